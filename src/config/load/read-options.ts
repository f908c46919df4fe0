/** Reads a document by the schema, option by option, so that all mistakes are reported at once. */
import { type Option, OptionRefusal, type Origin, outputName, type Parsed } from '../option.ts';
import type { Interpolated } from './interpolate.ts';
import { type Finding, formatPath, type Path } from './problem.ts';

const MAX_SHOWN = 80;

/** Configuration in which each invalid option is undefined. */
export type Draft<T> = T extends readonly (infer E)[]
  ? readonly Draft<E>[]
  : T extends object
    ? { readonly [K in keyof T]?: Draft<T[K]> | undefined }
    : T;

interface ReadOptions<T> {
  readonly draft: Draft<T>;
  readonly findings: readonly Finding[];
}

export function readOptions<O extends Option>(
  schema: O,
  { value, templates }: Pick<Interpolated, 'value' | 'templates'>,
  origin: Origin,
): ReadOptions<Parsed<O>> {
  const findings: Finding[] = [];

  const refuse = (path: Path, found: unknown, expected: string, hint = '', isSecret = false) => {
    const advice = hint === '' ? '' : ` (${hint})`;
    const template = templates.get(JSON.stringify(path));
    const from = template === undefined ? '' : `, from ${JSON.stringify(template)},`;
    const message =
      found === undefined
        ? `required: ${expected}`
        : isSecret
          ? `this secret cannot be used${advice}; expected ${expected}`
          : `${shown(found)}${from} is not allowed; expected ${expected}${advice}`;
    findings.push({ path, message });
  };

  const read = (option: Option, given: unknown, path: Path): unknown => {
    // A key without a value counts as absent.
    const raw = given ?? undefined;
    if (option.kind === 'value') {
      const { allowed, fallback, isSecret } = option;
      try {
        if (raw === undefined && fallback === undefined) throw new OptionRefusal('');
        const isFilledIn = templates.has(JSON.stringify(path));
        return option.parse(raw ?? fallback, { ...origin, isFilledIn });
      } catch (error) {
        if (!(error instanceof OptionRefusal)) throw error;
        refuse(path, raw, allowed, error.message, isSecret);
        return undefined;
      }
    }
    if (option.kind === 'list') {
      const { item, most } = option;
      if (Array.isArray(raw) && raw.length > 0 && raw.length <= most)
        return raw.map((entry, index) => read(item, entry, [...path, index]));
      refuse(path, raw, `a list with 1 to ${most} entries`);
      return [];
    }
    if (raw === undefined && option.kind === 'group' && option.isOptional) return undefined;
    if (raw !== undefined && (typeof raw !== 'object' || Array.isArray(raw))) {
      refuse(path, raw, 'a mapping of options');
      return {};
    }
    const members = (raw ?? {}) as Readonly<Record<string, unknown>>;
    if (option.kind === 'named') {
      const entries = Object.entries(members).map(([name, entry]) => {
        const at = [...path, name];
        const objection = option.checkName(name);
        if (objection !== undefined) findings.push({ path: at, message: objection });
        return [name, read(option.item, entry, at)];
      });
      return Object.fromEntries(entries);
    }
    const { shape } = option;
    for (const key of Object.keys(members).filter((key) => !Object.hasOwn(shape, key)))
      findings.push({ path: [...path, key], message: unknownKey(path, Object.keys(shape)) });
    return Object.fromEntries(
      Object.entries(shape).map(([key, member]) => [
        outputName(key, member),
        read(member, Object.hasOwn(members, key) ? members[key] : undefined, [...path, key]),
      ]),
    );
  };

  return { draft: read(schema, value, []) as Draft<Parsed<O>>, findings };
}

function unknownKey(path: Path, known: readonly string[]): string {
  const where = path.length === 0 ? 'at the top level' : `in ${formatPath(path)}`;
  return `unknown option; known ${where}: ${known.join(', ')}`;
}

/** Parts of an address that may be secret: user and password, query, fragment. */
const SECRET_PARTS: readonly (readonly [RegExp, string])[] = [
  [/^(\s*[a-z][a-z\d+.-]*:\/\/)[^?#]*@/i, '$1[secret]@'],
  [/^\s*[\w.%+-]+:(?!\/\/)[^@]*@/, '[secret]@'],
  [/^(\s*[a-z][a-z\d+.-]*:\/\/[^?#]*[?#]).*$/is, '$1[secret]'],
];

/** Returns a value as written, without the contents of mappings and lists and the secret parts of addresses. */
function shown(found: unknown): string {
  if (Array.isArray(found))
    return found.length === 0 ? 'an empty list' : `a list of ${found.length}`;
  if (typeof found === 'object' && found !== null) return 'a mapping';
  const text = JSON.stringify(
    typeof found === 'string'
      ? SECRET_PARTS.reduce((text, [part, mask]) => text.replace(part, mask), found)
      : found,
  );
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}

/** From what the schema objects to, to what a person can act on. */
import type { z } from 'zod';
import { nearest } from '../../base/nearest.ts';
import { infoOf, type OptionInfo } from '../option.ts';
import type { Interpolated } from './interpolate.ts';
import { formatPath, type Path, valueAt } from './path.ts';
import type { Finding } from './problem.ts';

const MAX_SHOWN = 80;

/** One finding per issue, one per unknown key. */
export function findingsOf(
  error: z.ZodError,
  schema: z.ZodType,
  document: Interpolated,
): Finding[] {
  return error.issues.flatMap((issue): Finding[] => {
    const path = issue.path as Path;
    const info = infoAt(schema, path);
    if (issue.code === 'unrecognized_keys') {
      const known = info?.kind === 'group' ? Object.keys(info.shape) : [];
      return issue.keys.map((key) => ({
        path: [...path, key],
        message: unknownKey(key, path, known),
      }));
    }
    const hint = issue.code === 'custom' ? String(issue.params?.hint ?? '') : '';
    return [
      {
        path,
        message: refusal(
          info,
          valueAt(document.value, path),
          hint,
          document.templates.get(JSON.stringify(path)),
        ),
      },
    ];
  });
}

function unknownKey(key: string, path: Path, known: readonly string[]): string {
  const close = nearest(key, known);
  const where = path.length === 0 ? 'at the top level' : `in ${formatPath(path)}`;
  return close === undefined
    ? `unknown option; known ${where}: ${known.join(', ')}`
    : `unknown option; did you mean ${close}?`;
}

function refusal(
  info: OptionInfo | undefined,
  found: unknown,
  hint: string,
  template: string | undefined,
): string {
  const expected = allowedBy(info);
  const advice = hint === '' ? '' : ` (${hint})`;
  if (found === undefined || found === null) return `required: ${expected}${advice}`;
  if (info?.kind === 'value' && info.secret)
    return `this secret cannot be used${advice}; expected ${expected}`;
  const origin = template === undefined ? '' : `, from ${JSON.stringify(template)},`;
  return `${show(found)}${origin} is not allowed; expected ${expected}${advice}`;
}

function allowedBy(info: OptionInfo | undefined): string {
  if (info?.kind === 'value') return info.allowed;
  if (info?.kind === 'list') return 'a list with at least one entry';
  return 'a mapping of options';
}

/** The value as written, without what a mapping or a list holds and without credentials in an address. */
function show(found: unknown): string {
  if (Array.isArray(found)) return found.length === 0 ? 'an empty list' : 'a list';
  if (typeof found === 'object' && found !== null) return 'a mapping';
  const text =
    JSON.stringify(
      typeof found === 'string' ? found.replace(/\/\/[^/@\s]*@/g, '//[secret]@') : found,
    ) ?? String(found);
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}

function infoAt(schema: z.ZodType, path: Path): OptionInfo | undefined {
  let info: OptionInfo | undefined = infoOf(schema);
  for (const step of path) {
    if (info?.kind === 'group' && typeof step === 'string' && Object.hasOwn(info.shape, step))
      info = infoOf(info.shape[step] as z.ZodType);
    else if (info?.kind === 'list' && typeof step === 'number') info = infoOf(info.item);
    else return undefined;
  }
  return info;
}

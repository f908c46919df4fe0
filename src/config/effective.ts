import { formatPath, type Path } from './load/problem.ts';
import { type Option, outputName, type Value } from './option.ts';
import { filled } from './options/names.ts';
import { CONFIGURATION, type Config } from './schema.ts';
import { Secret } from './secret.ts';

/** Option in a configuration that may contain mistakes. */
interface Drafted {
  readonly path: Path;
  /** undefined if the value is invalid, or if the option is optional and absent. */
  readonly value: unknown;
  /** True if the value differs from the default. */
  readonly isSet: boolean;
  show(value: unknown): string;
}

const NO_ORIGIN = { env: {}, directory: '' };

/** Finds an option by its name. @param index entry of the list or mapping in names that begin with `pipelines[]` or `services[]` */
export function drafted(draft: unknown, name: string, index: number | string): Drafted {
  let option: Option = CONFIGURATION;
  let value = draft;
  let pipeline: object = {};
  const path: (string | number)[] = [];
  for (const step of name.split('.')) {
    const key = step.replace('[]', '');
    const member: Option | undefined = option.kind === 'group' ? option.shape[key] : undefined;
    if (member === undefined) throw new Error(`there is no option ${name}`);
    value = (value as Record<string, unknown> | undefined)?.[outputName(key, member)];
    path.push(key);
    option = member;
    if (option.kind === 'list' || option.kind === 'named') {
      value = (value as Record<number | string, unknown> | undefined)?.[index];
      pipeline = (value ?? {}) as object;
      path.push(index);
      option = option.item;
    }
  }
  if (option.kind !== 'value') throw new Error(`${name} is a group`);
  return { path, value, isSet: isSet(option, value, pipeline), show: option.show };
}

/** Returns true if an option differs from its default. The default may refer to other options of the pipeline. */
function isSet({ fallback, parse }: Value<unknown>, value: unknown, pipeline: object) {
  const unset = fallback === undefined ? undefined : filled(parse(fallback, NO_ORIGIN), pipeline);
  return value !== undefined && JSON.stringify(value) !== JSON.stringify(unset);
}

interface EffectiveOption {
  readonly path: string;
  /** Value as written in a configuration. Secrets are shown as `[secret]`. */
  readonly value: string;
  /** True if the value differs from the default. */
  readonly isSet: boolean;
}

interface FoundOption {
  readonly path: string;
  readonly option: Value<unknown>;
  readonly value: unknown;
  /** Mapping that contains the option, such as a pipeline. */
  readonly entry: object;
}

/** Returns every option with its current value, including defaults, in the order of the schema. */
export function effectiveOptions(config: Config): EffectiveOption[] {
  return optionsIn(config).map(({ path, option, value, entry }) => ({
    path,
    value: option.show(value),
    isSet: isSet(option, value, entry),
  }));
}

/** Returns every secret with the path of its option. */
export function secretsIn(config: Config): (readonly [path: string, Secret])[] {
  return optionsIn(config).flatMap(({ path, value }) =>
    // Extra headers are a mapping whose values are secrets.
    (value instanceof Secret ? [value] : Object.values(Object(value)))
      .filter((one) => one instanceof Secret)
      .map((one) => [path, one] as const),
  );
}

/** Returns the paths of secrets whose value is in the file. Leaves out extra headers, which are rarely secret. */
export function inlineSecrets(config: Config): string[] {
  return optionsIn(config).flatMap(({ path, value }) =>
    value instanceof Secret && value.isInline ? [path] : [],
  );
}

function optionsIn(config: Config): FoundOption[] {
  const walk = (option: Option, value: unknown, path: Path, entry: object): FoundOption[] => {
    if (option.kind === 'value') return [{ path: formatPath(path), option, value, entry }];
    if (option.kind === 'list')
      return (value as readonly object[]).flatMap((entry, index) =>
        walk(option.item, entry, [...path, index], entry),
      );
    // An optional group that is absent has no options in effect.
    if (value === undefined) return [];
    const members = value as Readonly<Record<string, unknown>>;
    if (option.kind === 'named')
      return Object.entries(members).flatMap(([name, entry]) =>
        walk(option.item, entry, [...path, name], entry as object),
      );
    return Object.entries(option.shape).flatMap(([key, member]) =>
      walk(member, members[outputName(key, member)], [...path, key], entry),
    );
  };
  return walk(CONFIGURATION, config, [], {});
}

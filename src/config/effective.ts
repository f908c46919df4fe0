import { formatPath, type Path } from './load/problem.ts';
import { type Option, outputName, type Value } from './option.ts';
import { filled } from './options/names.ts';
import { CONFIGURATION, type Config } from './schema.ts';
import { Secret } from './secret.ts';

const NO_ORIGIN = { env: {}, directory: '' };

export interface FoundOption {
  readonly path: Path;
  readonly option: Value<unknown>;
  /** undefined if it is invalid, or optional and absent. */
  readonly value: unknown;
  /** True if the value differs from the default. */
  readonly isSet: boolean;
  /** True if an optional group that contains the option is absent. */
  readonly isAbsent: boolean;
}

/** Returns every option by its name, in the order of the schema. The configuration may contain mistakes. */
export function optionsIn(draft: unknown): ReadonlyMap<string, FoundOption> {
  const found = new Map<string, FoundOption>();
  /** @param entry mapping that contains the option: the pipeline, or the whole configuration */
  const walk = (
    option: Option,
    value: unknown,
    path: Path,
    entry: object,
    isAbsent: boolean,
  ): void => {
    if (option.kind === 'value') {
      const own = isSet(option, value, entry);
      found.set(formatPath(path), { path, option, value, isSet: own, isAbsent });
    } else if (option.kind === 'list') {
      for (const [index, item] of ((value ?? []) as readonly object[]).entries())
        walk(option.item, item, [...path, index], item, false);
    } else if (option.kind === 'named') {
      for (const [name, item] of Object.entries(value ?? {}))
        walk(option.item, item, [...path, name], item, false);
    } else {
      const members = value as Readonly<Record<string, unknown>> | undefined;
      for (const [key, member] of Object.entries(option.shape))
        walk(
          member,
          members?.[outputName(key, member)],
          [...path, key],
          entry,
          members === undefined,
        );
    }
  };
  walk(CONFIGURATION, draft, [], {}, false);
  return found;
}

/** Returns true if an option differs from its default, which may refer to other options of its pipeline. */
function isSet({ fallback, parse }: Value<unknown>, value: unknown, pipeline: object) {
  const unset = fallback === undefined ? undefined : filled(parse(fallback, NO_ORIGIN), pipeline);
  return value !== undefined && JSON.stringify(value) !== JSON.stringify(unset);
}

interface EffectiveOption {
  readonly path: string;
  /** Value as written in a configuration, or `[secret]` for a secret. */
  readonly value: string;
  /** True if the value differs from the default. */
  readonly isSet: boolean;
}

/** Returns every option with its value in effect, defaults included, in the order of the schema. */
export function effectiveOptions(config: Config): EffectiveOption[] {
  return [...optionsIn(config)].flatMap(([path, { option, value, isSet, isAbsent }]) =>
    isAbsent ? [] : [{ path, value: option.show(value), isSet }],
  );
}

/** Returns every secret with the path of its option. */
export function secretsIn(config: Config): (readonly [path: string, Secret])[] {
  return [...optionsIn(config)].flatMap(([path, { value }]) =>
    // The value of an option for headers is a mapping of secrets.
    (value instanceof Secret ? [value] : Object.values(Object(value)))
      .filter((one) => one instanceof Secret)
      .map((one) => [path, one] as const),
  );
}

/** Returns the paths of secrets whose value is in the file itself. Omits extra headers, which are rarely secret. */
export function inlineSecrets(config: Config): string[] {
  return [...optionsIn(config)].flatMap(([path, { value }]) =>
    value instanceof Secret && value.isInline ? [path] : [],
  );
}

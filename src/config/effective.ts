import { isSet } from './checks/drafted.ts';
import { formatPath, type Path } from './load/problem.ts';
import { type Option, outputName, type Value } from './option.ts';
import { CONFIGURATION, type Config } from './schema.ts';
import { Secret } from './secret.ts';

interface EffectiveOption {
  readonly path: string;
  /** As it would be written; `[secret]` for secrets. */
  readonly value: string;
  /** True with another value than the default. */
  readonly isSet: boolean;
}

interface FoundOption {
  readonly path: string;
  readonly option: Value<unknown>;
  readonly value: unknown;
  /** The mapping that has the option. */
  readonly entry: object;
}

/** Returns every option with its value in effect, defaults included, in the order of the schema. */
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
    // Headers are a mapping of secrets.
    (value instanceof Secret ? [value] : Object.values(Object(value)))
      .filter((one) => one instanceof Secret)
      .map((one) => [path, one] as const),
  );
}

/** Returns the paths of the secrets whose values are in the file. Extra headers are rarely secret, and left out. */
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
    const members = value as Readonly<Record<string, unknown>>;
    return Object.entries(option.shape).flatMap(([key, member]) =>
      walk(member, members[outputName(key, member)], [...path, key], entry),
    );
  };
  return walk(CONFIGURATION, config, [], {});
}

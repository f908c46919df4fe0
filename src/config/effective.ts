import { isSet } from './checks/drafted.ts';
import { formatPath, type Path } from './load/path.ts';
import { type Option, outputName } from './option.ts';
import { CONFIGURATION, type Config } from './schema.ts';

interface EffectiveOption {
  readonly path: string;
  /** As it would be written; `[secret]` for secrets. */
  readonly value: string;
  /** True with another value than the default. */
  readonly isSet: boolean;
}

/** Returns every option with its value in effect, defaults included, in the order of the schema. */
export function effectiveOptions(config: Config): EffectiveOption[] {
  const walk = (option: Option, value: unknown, path: Path, entry: object): EffectiveOption[] => {
    if (option.kind === 'value')
      return [
        {
          path: formatPath(path),
          value: option.show(value),
          isSet: isSet(option, value, entry),
        },
      ];
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

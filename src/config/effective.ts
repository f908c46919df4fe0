import { formatPath, type Path } from './load/path.ts';
import { type Option, outputName } from './option.ts';
import { CONFIGURATION, type Config } from './schema.ts';

export interface EffectiveOption {
  readonly path: string;
  /** As it would be written; `[secret]` for secrets. */
  readonly value: string;
}

/** Returns every option with its value in effect, defaults included, in the order of the schema. */
export function effectiveOptions(config: Config): EffectiveOption[] {
  const walk = (option: Option, value: unknown, path: Path): EffectiveOption[] => {
    if (option.kind === 'value') return [{ path: formatPath(path), value: option.show(value) }];
    if (option.kind === 'list')
      return (value as readonly unknown[]).flatMap((entry, index) =>
        walk(option.item, entry, [...path, index]),
      );
    return Object.entries(option.shape).flatMap(([key, member]) =>
      walk(member, (value as Record<string, unknown>)[outputName(key, member)], [...path, key]),
    );
  };
  return walk(CONFIGURATION, config, []);
}

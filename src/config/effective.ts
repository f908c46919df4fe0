import type { z } from 'zod';
import { formatPath, type Path } from './load/path.ts';
import { infoOf, outputName } from './option.ts';
import { type Config, configSchema } from './schema.ts';
import { Refusal } from './units.ts';

export interface EffectiveOption {
  readonly path: string;
  /** As it would be written; `[secret]` for secrets. */
  readonly value: string;
}

/** Every option with the value that holds, defaults included, in the order of the schema. */
export function effectiveOptions(config: Config): EffectiveOption[] {
  const options: EffectiveOption[] = [];
  const walk = (schema: z.ZodType, value: unknown, path: Path): void => {
    const info = infoOf(schema);
    if (info.kind === 'value') {
      options.push({ path: formatPath(path), value: info.show(value) });
    } else if (info.kind === 'list') {
      for (const [index, entry] of (value as readonly unknown[]).entries())
        walk(info.item, entry, [...path, index]);
    } else {
      for (const [key, member] of Object.entries(info.shape))
        walk(member, (value as Record<string, unknown>)[outputName(key, member)], [...path, key]);
    }
  };
  walk(
    configSchema(
      () => new Refusal(''),
      () => new Refusal(''),
    ),
    config,
    [],
  );
  return options;
}

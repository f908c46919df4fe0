/** Formats of the values that the pipelines of a process read and write. */
import type { Config } from '../config/schema.ts';
import type { EventFormat } from '../events/format.ts';
import { PLAIN_FORMATS } from '../events/formats/index.ts';
import type { FormatParts, Formats } from './all-formats.ts';

/**
 * Opens the formats. Schema parsers and the registry client are loaded only if a pipeline needs
 * them, because they take 15 MB and a quarter of a second of processor time. @throws Error if the
 * installation lacks the contracts
 */
export async function openFormats(
  config: Pick<Config, 'schemaRegistry' | 'service' | 'services' | 'pipelines'>,
  parts: FormatParts,
): Promise<Formats> {
  const isPlain = config.pipelines.every(
    ({ source, output }) => source.format in PLAIN_FORMATS && output.format === 'json',
  );
  if (!isPlain) return (await import('./all-formats.ts')).allFormats(config, parts);
  return {
    of: (name) => PLAIN_FORMATS[name] as EventFormat,
    wrap: (_pipeline, kind) => kind,
    start: async () => {},
    close: async () => {},
  };
}

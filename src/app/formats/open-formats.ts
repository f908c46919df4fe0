/**
 * What only formats other than JSON need (parsers of schemas, the registry's client) is loaded when a pipeline has one: it costs
 * 15 MB and a quarter of a second of processor time.
 */
import type { Config } from '../../config/schema.ts';
import { PLAIN_FORMATS } from '../../events/formats/index.ts';
import type { FormatParts, Formats } from './formats.ts';

/** @throws Error when the installation lacks the contracts */
export async function openFormats(
  config: Pick<Config, 'schemaRegistry' | 'service' | 'pipelines'>,
  parts: FormatParts,
): Promise<Formats> {
  const plain = config.pipelines.every(
    ({ source, output }) => source.format in PLAIN_FORMATS && output.format === 'json',
  );
  if (plain) return PLAIN;
  const { allFormats } = await import('./all-formats.ts');
  return allFormats(config, parts);
}

const PLAIN: Formats = {
  of: (name) => PLAIN_FORMATS[name as keyof typeof PLAIN_FORMATS],
  wrap: (_pipeline, kind) => kind,
  start: async () => {},
  close: async () => {},
};

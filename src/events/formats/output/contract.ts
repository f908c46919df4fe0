/** What a kind of pipeline publishes, as contracts/ describes it: one schema in three languages. */
import { readFileSync } from 'node:fs';
import type { NewSchema } from '../../registry/index.ts';

/** The same number of folders up from src/ and from dist/. */
const CONTRACTS = new URL('../../../../contracts/', import.meta.url);

const NAMES = { review: 'decision', import: 'receipt', lookup: 'looked-up-decision' } as const;
export type OutputContract = (typeof NAMES)[keyof typeof NAMES];

export const contractOf = (kind: keyof typeof NAMES): OutputContract => NAMES[kind];

/** Formats whose values are framed, with the id of a schema in a registry in front. */
export const REGISTRY_FORMATS = ['json-schema', 'avro', 'protobuf'] as const;
export type RegistryFormatName = (typeof REGISTRY_FORMATS)[number];

interface ContractFile {
  /** Below contracts/. */
  readonly file: string;
  readonly schema: NewSchema;
}

/** The file to register. @throws Error when the installation lacks it */
export function contractFile(contract: OutputContract, format: RegistryFormatName): ContractFile {
  const read = (type: NewSchema['type'], file: string): ContractFile => ({
    file,
    schema: { type, text: readFileSync(new URL(file, CONTRACTS), 'utf8') },
  });
  switch (format) {
    case 'json-schema':
      return read('JSON', `${contract}.schema.json`);
    case 'avro':
      return read('AVRO', `avro/${contract}.avsc`);
    case 'protobuf':
      return read('PROTOBUF', `protobuf/${contract}.proto`);
  }
}

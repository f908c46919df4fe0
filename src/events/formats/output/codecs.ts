import { avroCodec } from './avro-codec.ts';
import type { Codec, ContractCodec } from './codec.ts';
import { contractFile, type OutputContract, type RegistryFormatName } from './contract.ts';
import { jsonSchemaCodec } from './json-schema-codec.ts';
import { protobufCodec } from './protobuf-codec.ts';

/** Made from the text of a schema; they throw for one that is none of contracts/. */
export const CODECS: Readonly<Record<RegistryFormatName, (schema: string) => Codec>> = {
  'json-schema': jsonSchemaCodec,
  avro: avroCodec,
  protobuf: protobufCodec,
};

export function codecOf(contract: OutputContract, format: RegistryFormatName): ContractCodec {
  const { file, schema } = contractFile(contract, format);
  return { file, schema, ...CODECS[format](schema.text) };
}

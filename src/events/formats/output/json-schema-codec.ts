import type { Codec, DecodedTerminal } from './codec.ts';

/** JSON as it was rendered. Its name is the schema's title, as Confluent's serializer has it. */
export function jsonSchemaCodec(schema: string): Codec {
  const { title } = JSON.parse(schema) as { readonly title: string };
  return {
    recordName: title,
    encode: (json) => Buffer.from(json),
    decode: (payload) => JSON.parse(payload.toString('utf8')) as DecodedTerminal,
  };
}

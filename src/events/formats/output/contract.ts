/** The records that a kind of pipeline publishes: contracts/ has one schema for them in each of three languages. */
import { readFileSync } from 'node:fs';
import avro from 'avsc';
import protobuf from 'protobufjs';
import { parseJson } from '../../../../packages/client/src/base/json/parse-json.ts';
import { avroForm, protobufForm } from '../../../contracts/encodable.ts';
import {
  FIRST_MESSAGE,
  type NewSchema,
  readMessageIndexes,
  type SchemaType,
} from '../../registry/index.ts';
import { readAvroValue } from '../avro/avro-format.ts';
import { avroReader } from '../avro/reader.ts';

/** The same number of folders up from src/ and from dist/. */
const CONTRACTS = new URL('../../../../contracts/', import.meta.url);

const NAMES = { review: 'decision', import: 'receipt', lookup: 'looked-up-decision' } as const;
export type OutputContract = (typeof NAMES)[keyof typeof NAMES];

export const contractOf = (kind: keyof typeof NAMES): OutputContract => NAMES[kind];

/** The payload of a registered format, without its frame. */
export interface TerminalCodec {
  /** @param json text of a terminal record. @throws Error on another text */
  encode(json: string): Uint8Array;
  /** Reads a payload as a consumer does; names as in the JSON form. @throws Error on another payload */
  decode(payload: Buffer): DecodedTerminal;
}

/** Terminal record with the names of the JSON form. Not every kind has every member. */
export type DecodedTerminal = Readonly<Record<string, unknown>>;

/** Formats whose values are framed, with the id of a schema in a registry in front. */
const FORMATS = {
  'json-schema': { type: 'JSON', file: ['', '.schema.json'], codec: jsonSchemaCodec },
  avro: { type: 'AVRO', file: ['avro/', '.avsc'], codec: avroCodec },
  protobuf: { type: 'PROTOBUF', file: ['protobuf/', '.proto'], codec: protobufCodec },
} as const;
export type RegistryFormatName = keyof typeof FORMATS;
export const REGISTRY_FORMATS = Object.keys(FORMATS) as readonly RegistryFormatName[];

/** Codec of a schema in a registry. @throws Error for a schema that is not one of contracts/ */
export function codecFor(type: SchemaType, text: string): TerminalCodec | undefined {
  return Object.values(FORMATS)
    .find((format) => format.type === type)
    ?.codec(text);
}

export interface ContractCodec extends TerminalCodec {
  /** Below contracts/. */
  readonly file: string;
  /** Schema to register. */
  readonly schema: NewSchema;
}

/** @throws Error when the installation lacks the file */
export function codecOf(contract: OutputContract, format: RegistryFormatName): ContractCodec {
  const { type, codec, file: parts } = FORMATS[format];
  const file = parts.join(contract);
  const text = readFileSync(new URL(file, CONTRACTS), 'utf8');
  return { file, schema: { type, text }, ...codec(text) };
}

/** JSON as it was rendered. */
function jsonSchemaCodec(): TerminalCodec {
  return {
    encode: (json) => Buffer.from(json),
    decode: (payload) => parseJson(payload.toString('utf8')) as DecodedTerminal,
  };
}

/** Written for a status that the schema does not know: readers of a newer one get it too. */
const UNKNOWN = 'UNKNOWN';

/** @param schema a record with an enum `status` */
function avroCodec(schema: string): TerminalCodec {
  const type = avro.Type.forSchema(parseJson(schema) as avro.Schema) as avro.types.RecordType;
  const { symbols } = type.field('status').type as avro.types.EnumType;
  const check = avroReader(type);
  return {
    encode(json) {
      const form = avroForm(json);
      const status = symbols.includes(String(form.status)) ? form.status : UNKNOWN;
      return type.toBuffer({ ...form, status });
    },
    decode(payload) {
      // avsc allocates as many items as a broken count has.
      const { poison } = readAvroValue(payload, 0, check);
      if (poison !== undefined) throw new Error(poison.message);
      return type.fromBuffer(payload);
    },
  };
}

/** @param schema its first message is the record. A status that it does not know is not set */
function protobufCodec(schema: string): TerminalCodec {
  const { root, package: space = '' } = protobuf.parse(schema, { keepCase: true });
  const [message] = (root.lookup(space) as protobuf.Namespace | null)?.nestedArray ?? [];
  if (!(message instanceof protobuf.Type)) throw new Error('the Protobuf file has no message');
  return {
    encode: (json) =>
      Buffer.concat([
        FIRST_MESSAGE,
        message.encode(message.fromObject(protobufForm(json))).finish(),
      ]),
    decode(payload) {
      const path = readMessageIndexes(payload, 0);
      if (path?.indexes.join() !== '0') throw new Error('the payload is of another message');
      const decoded = message.decode(payload.subarray(path.end));
      const members = message.toObject(decoded, { enums: String, longs: Number, defaults: true });
      return { ...members, status: String(members.status).replace(/^STATUS_/, '') };
    },
  };
}

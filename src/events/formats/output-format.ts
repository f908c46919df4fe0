/** Formats of terminal records other than plain JSON. */
import { readFileSync } from 'node:fs';
import avro from 'avsc';
import protobuf from 'protobufjs';
import { parseJson } from '../../../packages/client/src/base/json/parse-json.ts';
import { orUndefined } from '../../../packages/client/src/base/result.ts';
import type { OutgoingRecord } from '../../core/record.ts';
import {
  FIRST_MESSAGE,
  FRAME_BYTES,
  type NewSchema,
  readFrame,
  readMessageIndexes,
  type SchemaRegistry,
  type SchemaType,
  writeFrame,
} from '../registry/index.ts';
import { readAvroValue } from './avro-format.ts';
import { avroReader } from './avro-reader.ts';
import { avroForm, protobufForm } from './json-form.ts';

// Contracts of the terminal records of each kind. contracts/ has each schema in three languages.

/** The path is the same from src/ and dist/, which are equally deep. */
const CONTRACTS = new URL('../../../contracts/', import.meta.url);

const NAMES = { review: 'decision', import: 'receipt', lookup: 'looked-up-decision' } as const;
export type OutputContract = (typeof NAMES)[keyof typeof NAMES];

export const contractOf = (kind: keyof typeof NAMES): OutputContract => NAMES[kind];

/** Codec for payloads of a registered format, without their frames. */
export interface TerminalCodec {
  /** @param json text of a terminal record. @throws Error for any other text */
  encode(json: string): Uint8Array;
  /** Reads a payload as a consumer does, with the names of the JSON form. @throws Error for any other payload */
  decode(payload: Buffer): DecodedTerminal;
}

/** Terminal record with the member names of the JSON form. The members depend on the kind. */
export type DecodedTerminal = Readonly<Record<string, unknown>>;

/** Formats with framed values: the id of a registered schema, then the payload. */
const FORMATS = {
  'json-schema': { type: 'JSON', file: ['', '.schema.json'], codec: jsonSchemaCodec },
  avro: { type: 'AVRO', file: ['avro/', '.avsc'], codec: avroCodec },
  protobuf: { type: 'PROTOBUF', file: ['protobuf/', '.proto'], codec: protobufCodec },
} as const;
export type RegistryFormatName = keyof typeof FORMATS;
export const REGISTRY_FORMATS = Object.keys(FORMATS) as readonly RegistryFormatName[];

/** Returns the codec of a schema in a registry. @throws Error for a schema that is not from contracts/ */
export function codecFor(type: SchemaType, text: string): TerminalCodec | undefined {
  return Object.values(FORMATS)
    .find((format) => format.type === type)
    ?.codec(text);
}

interface ContractCodec extends TerminalCodec {
  /** Path below contracts/. */
  readonly file: string;
  /** Schema to register. */
  readonly schema: NewSchema;
}

/** Reads a contract's schema file. @throws Error if the installation lacks the file */
export function codecOf(contract: OutputContract, format: RegistryFormatName): ContractCodec {
  const { type, codec, file: parts } = FORMATS[format];
  const file = parts.join(contract);
  const text = readFileSync(new URL(file, CONTRACTS), 'utf8');
  return { file, schema: { type, text }, ...codec(text) };
}

/** Codec of JSON Schema, which writes the JSON unchanged. */
function jsonSchemaCodec(): TerminalCodec {
  return {
    encode: (json) => Buffer.from(json),
    decode: (payload) => parseJson(payload.toString('utf8')) as DecodedTerminal,
  };
}

/** Written instead of a status that the schema does not have. A reader with an older schema sees the same value. */
const UNKNOWN = 'UNKNOWN';

/** @param schema schema of a record with an enum `status` */
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
      // avsc allocates as many items as a broken count states, so the payload is checked first.
      const { poison } = readAvroValue(payload, 0, check);
      if (poison !== undefined) throw new Error(poison.message);
      return type.fromBuffer(payload);
    },
  };
}

/** @param schema .proto file whose first message is the record. A status unknown to it stays unset */
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
      if (path?.indexes.join() !== '0') throw new Error('the payload contains another message');
      const decoded = message.decode(payload.subarray(path.end));
      const members = message.toObject(decoded, { enums: String, longs: Number, defaults: true });
      return { ...members, status: String(members.status).replace(/^STATUS_/, '') };
    },
  };
}

/** Format whose values begin with a schema id, which is looked up at startup, so that encoding needs no registry. */
export class RegisteredFormat {
  readonly name: RegistryFormatName;
  readonly codec: ContractCodec;
  readonly subject: string;
  #id: number | undefined;

  constructor(contract: OutputContract, format: RegistryFormatName, subject: string) {
    this.name = format;
    this.codec = codecOf(contract, format);
    this.subject = subject;
  }

  /** Sets the schema id. @param id id of the schema in the subject */
  writeWith(id: number): void {
    this.#id = id;
  }

  /** Encodes the value of a kind's record. @throws Error for another record, or before `writeWith` */
  encode(record: OutgoingRecord): OutgoingRecord {
    if (this.#id === undefined)
      throw new Error(`the schema of subject ${this.subject} has not been looked up`);
    return { ...record, value: writeFrame(this.#id, this.codec.encode(String(record.value))) };
  }
}

/** Maximum number of different notices about unreadable records. */
const MAX_NOTICES = 5;

/**
 * Returns a reader of terminal records, for tools. It uses the schema of each record, in any version or format, and
 * returns undefined for a value that it cannot read, or that this connector did not write.
 * @param notice receives each reason why the registry returns no schema, once
 */
export function framedReader(
  registry: Pick<SchemaRegistry, 'byId'>,
  signal: AbortSignal,
  notice: (text: string) => void,
): (value: Buffer) => Promise<DecodedTerminal | undefined> {
  const codecs = new Map<number, Promise<TerminalCodec | undefined>>();
  const noticed = new Set<string>();
  const codecOf = async (id: number): Promise<TerminalCodec | undefined> => {
    try {
      const found = await registry.byId(id, signal);
      return found && orUndefined(() => codecFor(found.type, found.text));
    } catch (error) {
      const { message } = error as Error;
      if (noticed.size < MAX_NOTICES && !noticed.has(message))
        notice(`some decisions cannot be read: ${message}`);
      noticed.add(message);
      return undefined;
    }
  };
  return async (value) => {
    const { id } = readFrame(value, []);
    if (id === undefined) return undefined;
    const codec = codecs.get(id) ?? codecOf(id);
    codecs.set(id, codec);
    const known = await codec;
    return orUndefined(() => known?.decode(value.subarray(FRAME_BYTES)));
  };
}

/** State of a schema under its subject. */
export type SchemaState =
  /** Version of the subject, but not necessarily the latest one. */
  | {
      readonly state: 'registered';
      readonly version: number;
      readonly id: number;
      readonly latest: number;
    }
  /** The subject has no versions. */
  | { readonly state: 'new' }
  /** The subject's compatibility rule accepts the schema as the next version. */
  | { readonly state: 'compatible'; readonly latest: number }
  | {
      readonly state: 'incompatible';
      readonly latest: number;
      readonly messages: readonly string[];
    };

/** Compares a schema with its subject's versions. @throws RegistryUnavailable, RegistryRefused, the signal's reason */
export async function schemaState(
  registry: SchemaRegistry,
  subject: string,
  schema: NewSchema,
  signal: AbortSignal,
): Promise<SchemaState> {
  const found = await registry.lookup(subject, schema, signal);
  const newest = await registry.version(subject, 'latest', signal);
  if (found !== undefined) {
    const { version, id } = found;
    return { state: 'registered', version, id, latest: newest?.version ?? version };
  }
  if (newest === undefined) return { state: 'new' };
  const latest = newest.version;
  const { compatible, messages } = await registry.compatibility(subject, schema, signal);
  return compatible ? { state: 'compatible', latest } : { state: 'incompatible', latest, messages };
}

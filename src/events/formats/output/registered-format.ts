/** Formats with a schema registry: the id of a registered schema is in front of each value. */
import type { OutgoingRecord } from '../../../core/record.ts';
import {
  FRAME_BYTES,
  type NewSchema,
  readFrame,
  type SchemaRegistry,
  writeFrame,
} from '../../registry/index.ts';
import {
  type ContractCodec,
  codecFor,
  codecOf,
  type DecodedTerminal,
  type OutputContract,
  type RegistryFormatName,
  type TerminalCodec,
} from './contract.ts';

/** The id is looked up once, at the start: encoding needs no registry. */
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

  /** @param id of the schema, under the subject */
  writeWith(id: number): void {
    this.#id = id;
  }

  /** Keeps the key. @param record as a kind renders it. @throws Error for another, and before `writeWith` */
  encode(record: OutgoingRecord): OutgoingRecord {
    if (this.#id === undefined)
      throw new Error(`the schema of subject ${this.subject} has not been looked up`);
    return { ...record, value: writeFrame(this.#id, this.codec.encode(String(record.value))) };
  }
}

/** Reads terminal records back, for tools: by the schema of each, whichever version or format. */
export class FramedReader {
  readonly #registry: Pick<SchemaRegistry, 'byId'>;
  readonly #codecs = new Map<number, Promise<TerminalCodec | undefined>>();

  constructor(registry: Pick<SchemaRegistry, 'byId'>) {
    this.#registry = registry;
  }

  /**
   * @returns undefined for a value that this connector has not written
   * @throws RegistryUnavailable, RegistryRefused, the signal's reason
   */
  async read(value: Buffer, signal: AbortSignal): Promise<DecodedTerminal | undefined> {
    const { id } = readFrame(value, []);
    if (id === undefined) return undefined;
    const codec = this.#codecs.get(id) ?? this.#codec(id, signal);
    this.#codecs.set(id, codec);
    const known = await codec;
    return orUndefined(() => known?.decode(value.subarray(FRAME_BYTES)));
  }

  async #codec(id: number, signal: AbortSignal): Promise<TerminalCodec | undefined> {
    const found = await this.#registry.byId(id, signal);
    return found && orUndefined(() => codecFor(found.type, found.text));
  }
}

function orUndefined<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/** State of a schema with regard to its subject. */
export type SchemaState =
  /** It is a version of the subject; perhaps not the latest one, which may have grown since. */
  | {
      readonly state: 'registered';
      readonly version: number;
      readonly id: number;
      readonly latest: number;
    }
  /** The subject has no version. */
  | { readonly state: 'new' }
  /** It may become the next version, by the subject's rule. */
  | { readonly state: 'compatible'; readonly latest: number }
  | {
      readonly state: 'incompatible';
      readonly latest: number;
      readonly messages: readonly string[];
    };

/** Reads only. @throws RegistryUnavailable, RegistryRefused, the signal's reason */
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

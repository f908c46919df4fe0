/** Reads terminal records back, for tools: by the schema that they were written with, whichever version or format that was. */
import {
  FRAME_BYTES,
  readFrame,
  type SchemaRegistry,
  type SchemaType,
} from '../../registry/index.ts';
import type { Codec, DecodedTerminal } from './codec.ts';
import { CODECS } from './codecs.ts';
import type { RegistryFormatName } from './contract.ts';

const FORMATS: Readonly<Record<SchemaType, RegistryFormatName>> = {
  AVRO: 'avro',
  PROTOBUF: 'protobuf',
  JSON: 'json-schema',
};

export class FramedReader {
  readonly #registry: Pick<SchemaRegistry, 'byId'>;
  readonly #codecs = new Map<number, Promise<Codec | undefined>>();

  constructor(registry: Pick<SchemaRegistry, 'byId'>) {
    this.#registry = registry;
  }

  /** undefined for a value that is none of this connector's. @throws RegistryUnavailable, RegistryRefused, the signal's reason */
  async read(value: Buffer, signal: AbortSignal): Promise<DecodedTerminal | undefined> {
    const { id } = readFrame(value, []);
    if (id === undefined) return undefined;
    let codec = this.#codecs.get(id);
    if (codec === undefined) {
      codec = this.#codec(id, signal);
      this.#codecs.set(id, codec);
    }
    const known = await codec;
    try {
      return known?.decode(value.subarray(FRAME_BYTES));
    } catch {
      return undefined;
    }
  }

  async #codec(id: number, signal: AbortSignal): Promise<Codec | undefined> {
    const found = await this.#registry.byId(id, signal);
    if (found === undefined) return undefined;
    try {
      return CODECS[FORMATS[found.type]](found.text);
    } catch {
      // Not a schema of ours.
      return undefined;
    }
  }
}

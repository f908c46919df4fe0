/** The payload of a registered format, without its frame. */
import type { NewSchema } from '../../registry/index.ts';

export interface Codec {
  /** Full name of the record, as the serializers of the registry's clients tell it. */
  readonly recordName: string;
  /** @param json text of a terminal record. @throws Error when it is none */
  encode(json: string): Uint8Array;
  /** What a consumer would read of it; names as in the JSON form. @throws Error when it is no such payload */
  decode(payload: Buffer): DecodedTerminal;
}

/** Of a terminal record, what tools show. Not every kind has every member. */
export interface DecodedTerminal {
  readonly status?: unknown;
  readonly result?: unknown;
  readonly error?: unknown;
  readonly batch?: unknown;
}

export interface ContractCodec extends Codec {
  /** Below contracts/. */
  readonly file: string;
  readonly schema: NewSchema;
}

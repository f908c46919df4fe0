/**
 * Frame that a registry's serializers write: a zero byte, the schema id in four bytes, for Protobuf
 * the path to the message in its file, then the payload.
 */
import { VarintReader } from '../../../packages/client/src/base/varint.ts';
import type { Poison, RecordHeaders } from '../../core/record.ts';

export const MAGIC_BYTE = 0;
export const FRAME_BYTES = 5;

/** Header with a schema's GUID. Newer serializers may write it instead of an id before the value. */
const GUID_HEADER = '__value_schema_id';

type SchemaFrame =
  | { readonly id: number; readonly poison?: never }
  | { readonly id?: never; readonly poison: Poison };

/** Reads the first five bytes. Never throws. A message contains nothing from the value. */
export function readFrame(value: Buffer, headers: RecordHeaders): SchemaFrame {
  if (value.length >= FRAME_BYTES && value[0] === MAGIC_BYTE) {
    const id = value.readInt32BE(1);
    // Ids are never negative, so this value is not framed: it only happens to begin with a zero byte.
    if (id >= 0) return { id };
  }
  return { poison: { reason: 'undecodable', message: objectionTo(headers) } };
}

function objectionTo(headers: RecordHeaders): string {
  return headers.some(([name]) => name === GUID_HEADER)
    ? `the schema is named by the header ${GUID_HEADER} (a GUID): write the schema's id before the value instead (the prefix schema id serializer)`
    : 'the value does not begin with a schema id: expected the byte 0, a schema id in 4 bytes, then the data, as the serializers of a schema registry write them';
}

/** Writes a framed value. @param id at least 0, below 2^31 */
export function writeFrame(id: number, payload: Uint8Array): Buffer {
  const frame = Buffer.alloc(FRAME_BYTES);
  frame.writeInt32BE(id, 1);
  return Buffer.concat([frame, payload]);
}

/** Maximum nesting, more than any real file has. Limits the cost of a forged count. */
const MAX_MESSAGE_DEPTH = 64;

/** Message indexes that select the first message of a file: [0]. */
export const FIRST_MESSAGE = Buffer.of(0);

/**
 * Reads the path to a message: the index of a top-level message, then of a message nested in it,
 * and so on. A path is encoded as its length and the indexes, in zigzag varints. The usual path [0]
 * is the single byte 0.
 * @returns the path and the start of the payload, or undefined if there is no path at `start`
 */
export function readMessageIndexes(bytes: Buffer, start: number) {
  const reader = new VarintReader();
  reader.reset(bytes, start, bytes.length);
  try {
    const count = reader.varint();
    if (count < 0 || count > MAX_MESSAGE_DEPTH) return undefined;
    const indexes = Array.from({ length: count }, () => reader.varint());
    if (indexes.some((index) => index < 0)) return undefined;
    return { indexes: count === 0 ? [0] : indexes, end: reader.at };
  } catch {
    return undefined;
  }
}

/**
 * The frame of a record that a registry's serializers write: a zero byte, the schema's id in four
 * bytes, for Protobuf the path to the message within its file, then the payload.
 */
import { VarintReader } from '../../../packages/client/src/base/varint.ts';
import type { Poison, RecordHeaders } from '../../core/record.ts';

export const MAGIC_BYTE = 0;
export const FRAME_BYTES = 5;

/** Header in which newer serializers may put a schema's GUID, instead of an id before the value. */
const GUID_HEADER = '__value_schema_id';

type SchemaFrame =
  | { readonly id: number; readonly poison?: never }
  | { readonly id?: never; readonly poison: Poison };

/** Reads the first five bytes. Never throws; the message shows nothing of the value. */
export function readFrame(value: Buffer, headers: RecordHeaders): SchemaFrame {
  if (value.length >= FRAME_BYTES && value[0] === MAGIC_BYTE) {
    const id = value.readInt32BE(1);
    // Ids are positive; anything else is a value that happens to begin with a zero.
    if (id >= 0) return { id };
  }
  return { poison: { reason: 'undecodable', message: objectionTo(headers) } };
}

function objectionTo(headers: RecordHeaders): string {
  return headers.some(([name]) => name === GUID_HEADER)
    ? `the schema is named by the header ${GUID_HEADER} (a GUID): write the schema's id in front of the value instead (the prefix schema id serializer)`
    : 'the value has no schema id in front: expected the byte 0, a schema id in 4 bytes, then the data, as the serializers of a schema registry write them';
}

/** @param id at least 0, below 2^31 */
export function writeFrame(id: number, payload: Uint8Array): Buffer {
  const frame = Buffer.alloc(FRAME_BYTES);
  frame.writeInt32BE(id, 1);
  return Buffer.concat([frame, payload]);
}

/** Limit of nesting, deeper than in any real file, so that an invented count costs nothing. */
const MAX_MESSAGE_DEPTH = 64;

/** Message indexes of the first message of a file, [0]. */
export const FIRST_MESSAGE = Buffer.of(0);

/**
 * Reads the path to a message: the index of a top-level one, of one nested in it, and so on. It is a
 * count and the indexes, as zigzag varints; the usual [0] is the one byte 0.
 * @returns the path and the start of the payload, or undefined when there is no path at `start`
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

/**
 * The frame of a record that a registry's serializers write: a zero byte, the schema's id in four bytes, for Protobuf the path
 * to the message within its file, then the payload.
 */
import type { Poison, RecordHeaders } from '../../core/record.ts';

export const MAGIC_BYTE = 0;
export const FRAME_BYTES = 5;

/** Where newer serializers may put a schema's GUID, instead of an id in front of the value. */
const GUID_HEADER = '__value_schema_id';

export type Frame =
  | { readonly id: number; readonly poison?: never }
  | { readonly id?: never; readonly poison: Poison };

/** Reads the first five bytes. Never throws; says nothing of what the value holds. */
export function readFrame(value: Buffer, headers: RecordHeaders): Frame {
  if (value.length >= FRAME_BYTES && value[0] === MAGIC_BYTE) {
    const id = value.readInt32BE(1);
    // Kept by the registry as a positive number; anything else is a value that happens to begin with a zero.
    if (id >= 0) return { id };
  }
  return { poison: { reason: 'undecodable', message: objection(value, headers) } };
}

function objection(value: Buffer, headers: RecordHeaders): string {
  if (headers.some(([name]) => name === GUID_HEADER)) {
    return `the schema is named by the header ${GUID_HEADER} (a GUID): write the schema's id in front of the value instead (the prefix schema id serializer)`;
  }
  const expected =
    'expected the byte 0, a schema id in 4 bytes, then the data, as the serializers of a schema registry write them';
  if (value.length < FRAME_BYTES) return `the value has ${value.length} bytes: ${expected}`;
  if (value[0] === 1)
    return `the value begins with the byte 1 (a schema's GUID), which is not supported: ${expected}`;
  return value[0] === MAGIC_BYTE
    ? `the schema id is negative: ${expected}`
    : `the value does not begin with the byte 0: ${expected}`;
}

/** @param id at least 0, below 2^31 */
export function writeFrame(id: number, payload: Uint8Array): Buffer {
  const framed = Buffer.allocUnsafe(FRAME_BYTES + payload.length);
  framed[0] = MAGIC_BYTE;
  framed.writeInt32BE(id, 1);
  framed.set(payload, FRAME_BYTES);
  return framed;
}

/**
 * Which message of a .proto file a Protobuf payload holds: the index of a top-level message, the index of a message nested in
 * it, and so on. A count and the indexes, as zigzag varints; the usual [0] is the one byte 0.
 */

/** Deeper nesting than any file has; keeps a made-up count from costing anything. */
const MAX_DEPTH = 64;

export interface ReadIndexes {
  readonly indexes: readonly number[];
  /** Where the payload begins. */
  readonly end: number;
}

/** @returns undefined when there is no such path at `start`. */
export function readMessageIndexes(bytes: Uint8Array, start: number): ReadIndexes | undefined {
  const count = readZigzag(bytes, start);
  if (count === undefined || count.value < 0 || count.value > MAX_DEPTH) return undefined;
  if (count.value === 0) return { indexes: [0], end: count.end };
  const indexes: number[] = [];
  let end = count.end;
  for (let step = 0; step < count.value; step++) {
    const index = readZigzag(bytes, end);
    if (index === undefined || index.value < 0) return undefined;
    indexes.push(index.value);
    end = index.end;
  }
  return { indexes, end };
}

/** @param indexes at least one */
export function writeMessageIndexes(indexes: readonly number[]): Buffer {
  if (indexes.length === 1 && indexes[0] === 0) return Buffer.of(0);
  return Buffer.from([indexes.length, ...indexes].flatMap(zigzagBytes));
}

/** A varint of 32 bits; one that is longer is none of ours. */
function readZigzag(
  bytes: Uint8Array,
  start: number,
): { readonly value: number; readonly end: number } | undefined {
  let raw = 0;
  for (let index = 0; index < 5; index++) {
    const byte = bytes[start + index];
    if (byte === undefined) return undefined;
    raw += (byte & 0x7f) * 2 ** (7 * index);
    if (byte < 0x80)
      return { value: raw % 2 === 0 ? raw / 2 : -(raw + 1) / 2, end: start + index + 1 };
  }
  return undefined;
}

function zigzagBytes(value: number): number[] {
  const bytes: number[] = [];
  let rest = value * 2;
  for (; rest >= 0x80; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 0x80);
  bytes.push(rest);
  return bytes;
}

/** Protobuf's wire format: fields with their numbers, and scalars. https://protobuf.dev/programming-guides/encoding */

import type { Read } from '../binary/binary-event.ts';
import { BrokenBytes, type ByteReader } from '../binary/byte-reader.ts';

export const VARINT = 0;
export const FIXED_64 = 1;
export const LENGTH = 2;
export const GROUP_START = 3;
const GROUP_END = 4;
export const FIXED_32 = 5;

const MAX_FIELD = 536_870_911;

/** Calls `on` for each field; what it does not take (false) is skipped, as every reader of Protobuf skips what it does not know. */
export function eachField(
  bytes: ByteReader,
  on: (field: number, wireType: number) => boolean,
): void {
  while (bytes.remaining > 0) {
    const { field, wireType } = tag(bytes);
    if (!on(field, wireType)) skip(bytes, field, wireType);
  }
}

function tag(bytes: ByteReader): { readonly field: number; readonly wireType: number } {
  const raw = Number(bytes.varint());
  const field = Math.floor(raw / 8);
  if (field < 1 || field > MAX_FIELD) throw new BrokenBytes('a field has an impossible number');
  return { field, wireType: raw % 8 };
}

/** Bytes with their length in front. */
export function delimited(bytes: ByteReader): Buffer {
  return bytes.part(Number(bytes.varint()));
}

/** What is in a group whose start was read, without its end. */
export function group(bytes: ByteReader, field: number): Buffer {
  const start = bytes.position;
  bytes.enter();
  for (;;) {
    const end = bytes.position;
    const next = tag(bytes);
    if (next.wireType === GROUP_END) {
      if (next.field !== field) throw new BrokenBytes('a group ends that did not begin');
      bytes.leave();
      return bytes.bytes.subarray(start, end);
    }
    skip(bytes, next.field, next.wireType);
  }
}

function skip(bytes: ByteReader, field: number, wireType: number): void {
  if (wireType === VARINT) bytes.varint();
  else if (wireType === FIXED_64) bytes.take(8);
  else if (wireType === LENGTH) delimited(bytes);
  else if (wireType === GROUP_START) group(bytes, field);
  else if (wireType === FIXED_32) bytes.take(4);
  else throw new BrokenBytes('a field has an impossible type');
}

export interface Scalar {
  readonly wireType: number;
  readonly read: Read;
  /** What a field without presence is when it was not sent. */
  readonly fallback: unknown;
}

/** An int32 or an enum: negative ones come as 64 bits. */
export function int32(bytes: ByteReader): number {
  const raw = bytes.varint();
  return typeof raw === 'number' && raw < 2 ** 31 ? raw : Number(BigInt.asIntN(32, BigInt(raw)));
}

/** Exact, as a number while that is possible. */
export function int64(bytes: ByteReader): number | bigint {
  const raw = bytes.varint();
  return typeof raw === 'number' ? raw : BigInt.asIntN(64, raw);
}

function uint32(bytes: ByteReader): number {
  const raw = bytes.varint();
  return typeof raw === 'number' ? raw % 2 ** 32 : Number(BigInt.asUintN(32, raw));
}

function sint32(bytes: ByteReader): number {
  const raw = uint32(bytes);
  return raw % 2 === 0 ? raw / 2 : -(raw + 1) / 2;
}

export const SCALARS: Readonly<Record<string, Scalar>> = {
  double: {
    wireType: FIXED_64,
    fallback: 0,
    read: (bytes) => bytes.double(bytes.bytes.readDoubleLE(bytes.take(8))),
  },
  float: {
    wireType: FIXED_32,
    fallback: 0,
    read: (bytes) => bytes.float(bytes.bytes.readFloatLE(bytes.take(4))),
  },
  int32: { wireType: VARINT, fallback: 0, read: int32 },
  int64: { wireType: VARINT, fallback: 0, read: (bytes) => bytes.integer(int64(bytes)) },
  uint32: { wireType: VARINT, fallback: 0, read: uint32 },
  uint64: { wireType: VARINT, fallback: 0, read: (bytes) => bytes.integer(bytes.varint()) },
  sint32: { wireType: VARINT, fallback: 0, read: sint32 },
  sint64: { wireType: VARINT, fallback: 0, read: (bytes) => bytes.integer(bytes.zigzag()) },
  fixed32: {
    wireType: FIXED_32,
    fallback: 0,
    read: (bytes) => bytes.bytes.readUInt32LE(bytes.take(4)),
  },
  fixed64: {
    wireType: FIXED_64,
    fallback: 0,
    read: (bytes) => bytes.integer(bytes.bytes.readBigUInt64LE(bytes.take(8))),
  },
  sfixed32: {
    wireType: FIXED_32,
    fallback: 0,
    read: (bytes) => bytes.bytes.readInt32LE(bytes.take(4)),
  },
  sfixed64: {
    wireType: FIXED_64,
    fallback: 0,
    read: (bytes) => bytes.integer(bytes.bytes.readBigInt64LE(bytes.take(8))),
  },
  bool: { wireType: VARINT, fallback: false, read: (bytes) => BigInt(bytes.varint()) !== 0n },
  string: { wireType: LENGTH, fallback: '', read: (bytes) => bytes.text(Number(bytes.varint())) },
  bytes: { wireType: LENGTH, fallback: '', read: (bytes) => bytes.base64(Number(bytes.varint())) },
};

/**
 * Encoding of a record's key, value and headers in message format v2: everything after the offset
 * delta. It does not depend on the batch, so it is written once, when the record is created.
 */
import { VarintReader, varintSize, writeVarint } from '../../../packages/client/src/base/varint.ts';
import { type Header, NO_HEADERS, type OutgoingRecord } from '../record.ts';

/** Returns the encoded size. @throws TypeError if a part is neither bytes nor a string */
export function sizeOfRecord({ key, value, headers = NO_HEADERS }: OutgoingRecord): number {
  let size = sizeOfPart(key) + sizeOfPart(value) + varintSize(headers.length);
  if (headers.length === 0) return size;
  for (const [name, one] of headers) size += sizeOfPart(name) + sizeOfPart(one);
  return size;
}

/** Writes a record, which takes `sizeOfRecord` bytes. @returns the offset of the next byte */
export function writeRecord(
  { key, value, headers = NO_HEADERS }: OutgoingRecord,
  to: Buffer,
  start: number,
): number {
  let at = writePart(to, key, start);
  at = writePart(to, value, at);
  at = writeVarint(to, headers.length, at);
  for (const [name, one] of headers) at = writePart(to, one, writePart(to, name, at));
  return at;
}

/** Returns the record at `start`. Key, value and header values are views of `bytes`. */
export function readRecord(
  bytes: Buffer,
  start: number,
): OutgoingRecord & { readonly key: Buffer | null; readonly value: Buffer | null } {
  const reader = readerAt(bytes, start);
  const key = reader.view();
  const value = reader.view();
  const headers: Header[] = [];
  for (let left = reader.varint(); left > 0; left--) headers.push([reader.text(), reader.view()]);
  return { key, value, headers };
}

/** Hash of bytes[from, to). */
export type KeyHash = (bytes: Buffer, from: number, to: number) => number;

/** Hashes the key of the record at `start` in place. @returns undefined for a null key */
export function hashKeyOfRecord(bytes: Buffer, start: number, hash: KeyHash): number | undefined {
  const reader = readerAt(bytes, start);
  const length = reader.part();
  return length < 0 ? undefined : hash(bytes, reader.at - length, reader.at);
}

function readerAt(bytes: Buffer, start: number): VarintReader {
  const reader = new VarintReader();
  reader.reset(bytes, start, bytes.length);
  return reader;
}

/** Returns the encoded size of a key, a value, or a header's name or value. @throws TypeError */
export function sizeOfPart(part: Buffer | string | null): number {
  if (part === null) return varintSize(-1);
  if (typeof part !== 'string' && !(part instanceof Uint8Array))
    throw new TypeError('a part of a record is neither bytes nor a string');
  const length = Buffer.byteLength(part);
  return varintSize(length) + length;
}

/** Writes a part with its length. @returns the offset of the next byte */
export function writePart(to: Buffer, part: Buffer | string | null, start: number): number {
  if (part === null) return writeVarint(to, -1, start);
  if (typeof part !== 'string') {
    const at = writeVarint(to, part.length, start);
    part.copy(to, at);
    return at + part.length;
  }
  const at = writeVarint(to, Buffer.byteLength(part), start);
  return at + to.write(part, at);
}

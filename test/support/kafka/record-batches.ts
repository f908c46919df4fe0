/**
 * Record batches of message format v2, including ones that no client library would write: any headers, any
 * timestamp, any bytes as compressed data. The code is simple (BigInt, lists) and shares nothing with the reader
 * under test.
 */
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { compress as snappyBlock } from 'snappyjs';
import { compressLz4 } from './lz4.ts';
import { compressSnappy } from './snappy.ts';

type Content = Buffer | string | null;

export interface RawRecord {
  /** Offset in the batch. Default: index in the list. */
  readonly delta?: number;
  readonly timestampDelta?: bigint;
  readonly key?: Content;
  readonly value?: Content;
  /** Headers in the order of the record. Names may repeat. */
  readonly headers?: readonly (readonly [name: string | Buffer, value: Content])[];
}

export interface RawBatch {
  readonly baseOffset?: number;
  readonly records?: readonly RawRecord[];
  /** Override the values computed from the records. */
  readonly lastDelta?: number;
  readonly count?: number;
  readonly codec?: Codec;
  /** Compressed bytes after the header; replaces `records`. */
  readonly packed?: Buffer;
  /** Changes the compressed bytes before length and checksum are computed. */
  readonly tamper?: (packed: Buffer) => Buffer;
  /** Codec and flags; replaces the number of `codec`. */
  readonly attributes?: number;
  readonly producerId?: bigint;
  readonly baseTimestamp?: bigint;
  readonly maxTimestamp?: bigint;
}

export type Codec = keyof typeof CODECS;

export const TRANSACTIONAL = 16;
export const CONTROL = 32;
export const LOG_APPEND_TIME = 8;

/** Compressions that known producers use, with their number in the attributes and their function. */
export const CODECS = {
  none: { code: 0, pack: (bytes: Buffer) => bytes },
  gzip: { code: 1, pack: (bytes: Buffer) => gzipSync(bytes) },
  snappy: { code: 2, pack: compressSnappy },
  bareSnappy: { code: 2, pack: (bytes: Buffer) => Buffer.from(snappyBlock(bytes)) },
  lz4: { code: 3, pack: compressLz4 },
  zstd: { code: 4, pack: (bytes: Buffer) => zstdCompressSync(bytes) },
};

export function varint(value: number | bigint): Buffer {
  const wide = BigInt(value);
  let rest = BigInt.asUintN(64, (wide << 1n) ^ (wide >> 63n));
  const bytes: number[] = [];
  for (; rest >= 0x80n; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
  return Buffer.from([...bytes, Number(rest)]);
}

function sized(content: Content): Buffer[] {
  if (content === null) return [varint(-1)];
  const bytes = typeof content === 'string' ? Buffer.from(content) : content;
  return [varint(bytes.length), bytes];
}

function partsOf({
  delta = 0,
  timestampDelta = 0n,
  key = null,
  value = null,
  headers = [],
}: RawRecord): Buffer[] {
  const body = [
    Buffer.alloc(1),
    varint(timestampDelta),
    varint(delta),
    ...sized(key),
    ...sized(value),
    varint(headers.length),
  ];
  for (const [name, content] of headers) body.push(...sized(name), ...sized(content));
  return [varint(body.reduce((size, { length }) => size + length, 0)), ...body];
}

export const writeRecord = (record: RawRecord): Buffer => Buffer.concat(partsOf(record));

export function writeRecords(records: readonly RawRecord[]): Buffer {
  return Buffer.concat(records.flatMap((record, place) => partsOf({ delta: place, ...record })));
}

export function writeBatch(given: RawBatch): Buffer {
  const { records = [], codec = 'none', baseTimestamp = 1_700_000_000_000n } = given;
  const { code, pack } = CODECS[codec];
  const untouched = given.packed ?? pack(writeRecords(records));
  const packed = given.tamper?.(untouched) ?? untouched;
  const batch = Buffer.alloc(61 + packed.length);
  packed.copy(batch, 61);
  batch.writeBigInt64BE(BigInt(given.baseOffset ?? 0), 0);
  batch.writeInt32BE(batch.length - 12, 8);
  batch.writeInt32BE(-1, 12);
  batch.writeInt8(2, 16);
  batch.writeInt16BE(given.attributes ?? code, 21);
  batch.writeInt32BE(given.lastDelta ?? records.at(-1)?.delta ?? records.length - 1, 23);
  batch.writeBigInt64BE(baseTimestamp, 27);
  batch.writeBigInt64BE(given.maxTimestamp ?? baseTimestamp, 35);
  batch.writeBigInt64BE(given.producerId ?? -1n, 43);
  batch.writeInt16BE(-1, 51);
  batch.writeInt32BE(-1, 53);
  batch.writeInt32BE(given.count ?? records.length, 57);
  return seal(batch);
}

/**
 * Batch with recent timestamps, because a broker removes old records. @param timestampMs timestamp of every record.
 * Default: now
 */
export function rawBatch({
  timestampMs = BigInt(Date.now()),
  ...batch
}: Omit<RawBatch, 'baseTimestamp'> & { readonly timestampMs?: bigint }): Buffer {
  return writeBatch({ ...batch, baseTimestamp: timestampMs });
}

/** The only record of a control batch. Its key contains version and type. */
export function writeMarker(
  baseOffset: number,
  producerId: bigint,
  type: 'abort' | 'commit',
): Buffer {
  const records = [
    { key: Buffer.from([0, 0, 0, type === 'abort' ? 0 : 1]), value: Buffer.alloc(6) },
  ];
  return writeBatch({ baseOffset, producerId, attributes: TRANSACTIONAL | CONTROL, records });
}

/** Writes the checksum of the batch into it. */
export function seal(batch: Buffer): Buffer {
  batch.writeUInt32BE(slowCrc32c(batch.subarray(21)), 17);
  return batch;
}

const TABLE = Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
  return crc;
});

export function slowCrc32c(bytes: Uint8Array): number {
  let crc = -1;
  for (const byte of bytes) crc = (crc >>> 8) ^ (TABLE[(crc ^ byte) & 255] as number);
  return ~crc >>> 0;
}

/** Record batches of message format v2, written for tests by plain means: BigInt and lists, nothing of what reads them. */
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { compress as snappyBlock } from 'snappyjs';
import { compressLz4 } from '../../dev/kafka/lz4.ts';
import { compressSnappy } from '../../dev/kafka/snappy.ts';

export interface TestRecord {
  /** Offset in the batch. Default: its place in the list. */
  readonly delta?: number;
  readonly timestampDelta?: bigint;
  readonly key?: Buffer | null;
  readonly value?: Buffer | null;
  readonly headers?: readonly (readonly [name: string | Buffer, value: Buffer | null])[];
}

export interface TestBatch {
  readonly baseOffset?: number;
  readonly records?: readonly TestRecord[];
  /** Instead of what the records give. */
  readonly lastDelta?: number;
  readonly count?: number;
  readonly codec?: Codec;
  /** Instead of the records: bytes as they stand behind the header, packed already. */
  readonly packed?: Buffer;
  /** Codec and flags, instead of what `codec` gives. */
  readonly attributes?: number;
  readonly producerId?: bigint;
  readonly baseTimestamp?: bigint;
  readonly maxTimestamp?: bigint;
}

export type Codec = keyof typeof CODECS;

export const TRANSACTIONAL = 16;
export const CONTROL = 32;
export const LOG_APPEND_TIME = 8;

/** Each way in which known producers compress: number in the attributes, and packing. */
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

function sized(bytes: Buffer | null): Buffer[] {
  return bytes === null ? [varint(-1)] : [varint(bytes.length), bytes];
}

export function writeRecord({ delta = 0, timestampDelta = 0n, key = null, value = null, headers = [] }: TestRecord): Buffer {
  const body = Buffer.concat([
    ...[Buffer.alloc(1), varint(timestampDelta), varint(delta), ...sized(key), ...sized(value), varint(headers.length)],
    ...headers.flatMap(([name, content]) => [...sized(Buffer.from(name)), ...sized(content)]),
  ]);
  return Buffer.concat([varint(body.length), body]);
}

export function writeRecords(records: readonly TestRecord[]): Buffer {
  return Buffer.concat(records.map((record, place) => writeRecord({ delta: place, ...record })));
}

export function writeBatch(given: TestBatch): Buffer {
  const { records = [], codec = 'none', baseTimestamp = 1_700_000_000_000n } = given;
  const { code, pack } = CODECS[codec];
  const packed = given.packed ?? pack(writeRecords(records));
  const batch = Buffer.alloc(61 + packed.length);
  packed.copy(batch, 61);
  batch.writeBigInt64BE(BigInt(given.baseOffset ?? 0), 0);
  batch.writeInt32BE(batch.length - 12, 8);
  batch.writeInt8(2, 16);
  batch.writeInt16BE(given.attributes ?? code, 21);
  batch.writeInt32BE(given.lastDelta ?? records.at(-1)?.delta ?? records.length - 1, 23);
  batch.writeBigInt64BE(baseTimestamp, 27);
  batch.writeBigInt64BE(given.maxTimestamp ?? baseTimestamp, 35);
  batch.writeBigInt64BE(given.producerId ?? -1n, 43);
  batch.writeInt32BE(given.count ?? records.length, 57);
  return seal(batch);
}

/** The one record of a control batch: its key holds version and type. */
export function writeMarker(baseOffset: number, producerId: bigint, type: 'abort' | 'commit'): Buffer {
  const records = [{ key: Buffer.from([0, 0, 0, type === 'abort' ? 0 : 1]), value: Buffer.alloc(6) }];
  return writeBatch({ baseOffset, producerId, attributes: TRANSACTIONAL | CONTROL, records });
}

/** Writes the checksum that belongs to the bytes. */
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

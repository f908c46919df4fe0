/**
 * Headers of the record batches in a fetch response, read without their records. Layout of message
 * format v2: https://kafka.apache.org/documentation/#recordbatch. Formats 0 and 1 (logs older than
 * Kafka 0.11) begin with the same two fields, so each of their messages can be reported as an
 * unreadable batch.
 */

import { UnusableOffset } from '../errors.ts';
import { crc32c } from './crc32c.ts';

/** Aborted transaction in a fetch response. */
export interface AbortedTransaction {
  readonly producerId: string;
  readonly firstOffset: string;
}

/** One partition of a fetch response. */
export interface FetchedBytes {
  readonly partition: number;
  readonly fetchOffset: number;
  /** High watermark. */
  readonly endOffset: number;
  readonly bytes: Buffer;
  readonly aborted: readonly AbortedTransaction[];
  /** True if the checksum of the last complete batch is correct. undefined if it has not been verified yet. */
  readonly lastIntact?: boolean | undefined;
}

export interface ReadLimits {
  /** Maximum size of a record. A larger record is skipped and reported as unreadable. */
  readonly maxRecordBytes: number;
  readonly maxHeaders: number;
  /** Maximum number of decompressed bytes of one record batch. */
  readonly maxBatchUnpackedBytes: number;
  /** Size of a piece in bytes. Default: 64 KiB. */
  readonly pieceBytes?: number;
}

/** Size of the fields offset and length. The length counts the bytes after them. */
const PREFIX_BYTES = 12;
const MAGIC_AT = 16;
const CRC_AT = 17;
const ATTRIBUTES_AT = 21;
export const RECORDS_AT = 61;
/** Minimum size of a message of format 0: prefix, CRC, magic, attributes, two lengths. */
const OLD_MESSAGE_BYTES = 26;
const OLD_ATTRIBUTES_AT = 17;

/** Stands for the magic of a batch whose length is impossible. */
const BROKEN = -1;
/** Stands for the magic of a batch whose offsets are impossible. Its base offset is -1. */
export const MISPLACED = -2;

const CODEC = 7;
const LOG_APPEND_TIME = 8;
const TRANSACTIONAL = 16;
const CONTROL = 32;

/** Header of a batch. It can be trusted only if the checksum is correct. */
export interface BatchHeader {
  /** Version of the message format. Only 2 can be read. Below 0 if the batch is broken. */
  readonly magic: number;
  readonly baseOffset: number;
  /** Last offset. Equals `baseOffset` in a compressed message of an old format, which states only its last offset. */
  readonly lastOffset: number;
  /** Position of the whole batch: bytes[start, end). */
  readonly start: number;
  readonly end: number;
  /** 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd. */
  readonly codec: number;
  readonly transactional: boolean;
  readonly control: boolean;
  /** True if `maxTimestamp`, the broker's append time, applies to all records. */
  readonly logAppendTime: boolean;
  readonly producerId: bigint;
  /** Number of records that the batch declares. */
  readonly count: number;
  /** Milliseconds since the epoch. May be any int64. */
  readonly baseTimestamp: bigint;
  readonly maxTimestamp: number;
}

/** Fields of a batch whose format cannot be read. */
const NOT_READ = {
  transactional: false,
  control: false,
  logAppendTime: false,
  producerId: -1n,
  count: 0,
  baseTimestamp: -1n,
  maxTimestamp: -1,
};

function readInt64(bytes: Buffer, at: number): number {
  return bytes.readInt32BE(at) * 0x1_0000_0000 + bytes.readUInt32BE(at + 4);
}

/** Maximum distance of a batch beyond the high watermark, which the broker determines before it reads the batches. */
const AFTER_WATERMARK = 2 ** 31;

/**
 * Yields the complete batches in order. A response may end in the middle of a batch.
 * @param endOffset high watermark of the response; a batch far beyond it is misplaced
 */
export function* walkBatches(
  bytes: Buffer,
  endOffset = Number.MAX_SAFE_INTEGER,
): Generator<BatchHeader> {
  for (let start = 0; start + CRC_AT <= bytes.length; ) {
    const stated = bytes.readInt32BE(start + 8) + PREFIX_BYTES;
    const magic = bytes.readInt8(start + MAGIC_AT);
    // After a batch with an impossible length, no further batch can be found.
    const broken = stated < (magic === 2 ? RECORDS_AT : OLD_MESSAGE_BYTES);
    const size = broken ? bytes.length - start : stated;
    if (start + size > bytes.length) return;
    yield header(bytes, start, start + size, broken ? BROKEN : magic, endOffset);
    start += size;
  }
}

function header(
  bytes: Buffer,
  start: number,
  end: number,
  form: number,
  endOffset: number,
): BatchHeader {
  const v2 = form === 2;
  const baseOffset = readInt64(bytes, start);
  const lastOffset = baseOffset + (v2 ? bytes.readInt32BE(start + 23) : 0);
  const placed =
    baseOffset >= 0 && baseOffset < endOffset + AFTER_WATERMARK && Number.isSafeInteger(lastOffset);
  const place = {
    magic: placed ? form : MISPLACED,
    baseOffset: placed ? baseOffset : -1,
    lastOffset: placed ? lastOffset : -1,
    start,
    end,
  };
  if (!v2) {
    const codec = form === BROKEN ? 0 : bytes.readInt8(start + OLD_ATTRIBUTES_AT) & CODEC;
    return { ...NOT_READ, ...place, codec };
  }
  const attributes = bytes.readInt16BE(start + ATTRIBUTES_AT);
  return {
    ...place,
    codec: attributes & CODEC,
    transactional: (attributes & TRANSACTIONAL) !== 0,
    control: (attributes & CONTROL) !== 0,
    logAppendTime: (attributes & LOG_APPEND_TIME) !== 0,
    producerId: bytes.readBigInt64BE(start + 43),
    count: bytes.readInt32BE(start + 57),
    baseTimestamp: bytes.readBigInt64BE(start + 27),
    maxTimestamp: readInt64(bytes, start + 35),
  };
}

/** Returns true if a batch can be read: its format is supported, and its checksum is right. */
export function isIntact(bytes: Buffer, { magic, start, end }: BatchHeader): boolean {
  return (
    magic === 2 && crc32c(bytes, start + ATTRIBUTES_AT, end) === bytes.readUInt32BE(start + CRC_AT)
  );
}

/** Batch with the offsets that only this batch covers. */
export interface PlacedBatch {
  readonly header: BatchHeader;
  /** The batch's offsets [from, to), without those before the fetch offset or in another batch. Empty if from = to. */
  readonly from: number;
  readonly to: number;
  /** True if the checksum is correct. undefined if it has not been verified yet. */
  readonly intact: boolean | undefined;
}

/**
 * Yields the batches with the offsets that each covers. The last offset in a header is trusted up
 * to the next batch. For the last batch, it is trusted if the checksum is correct, otherwise only
 * up to the high watermark. An unreadable last batch covers at least one offset, so that reading
 * advances.
 * @throws UnusableOffset if the high watermark exceeds the safe integers (ADR 0024)
 */
export function* placeBatches({
  bytes,
  fetchOffset,
  endOffset,
  lastIntact,
}: Omit<FetchedBytes, 'aborted' | 'partition'>): Generator<PlacedBatch> {
  if (endOffset > Number.MAX_SAFE_INTEGER) throw new UnusableOffset(String(endOffset));
  let position = fetchOffset;
  let prior: BatchHeader | undefined;
  const place = (batch: BatchHeader, to: number, intact?: boolean): PlacedBatch => {
    // A compressed message of an old format states only its last offset.
    const set = (batch.magic === 0 || batch.magic === 1) && batch.codec !== 0;
    const from = set ? position : Math.max(position, batch.baseOffset);
    position = Math.max(position, to);
    return { header: batch, from: Math.min(from, position), to: position, intact };
  };
  for (const next of walkBatches(bytes, endOffset)) {
    if (prior !== undefined) {
      const senseless = prior.magic < 0 || prior.magic > 2 || prior.lastOffset < prior.baseOffset;
      const known = senseless ? next.baseOffset : prior.lastOffset + 1;
      yield place(
        prior,
        next.baseOffset > prior.baseOffset ? Math.min(known, next.baseOffset) : known,
      );
    }
    prior = next;
  }
  if (prior === undefined) return;
  const first = Math.max(position, prior.baseOffset);
  if (lastIntact ?? isIntact(bytes, prior))
    yield place(prior, Math.max(prior.lastOffset, prior.baseOffset) + 1, true);
  else
    yield place(
      prior,
      Math.max(first + 1, prior.magic === 2 ? Math.min(prior.lastOffset + 1, endOffset) : 0),
      false,
    );
}

/** Verifies and returns the last complete batch, if there is one. @throws UnusableOffset like placeBatches */
export function lastBatch(
  fetched: Omit<FetchedBytes, 'aborted' | 'partition'>,
): PlacedBatch | undefined {
  let last: PlacedBatch | undefined;
  for (const batch of placeBatches(fetched)) last = batch;
  return last;
}

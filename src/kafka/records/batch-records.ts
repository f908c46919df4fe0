/** Records of one batch, one after the other, as far as memory allows. */

import { MalformedError, VarintReader } from '../../base/varint-reader.ts';
import type { DeadLetterReason } from '../../core/outcome/dead-letter-reason.ts';
import type { UnreadableRecords } from '../../core/ports/kafka.ts';
import { type PlacedBatch, RECORDS_AT } from './batch-walk.ts';
import { unpack } from './compression/unpack.ts';
import type { ReadLimits } from './fetched-bytes.ts';
import { type PieceBuilder, pieceBytesOf } from './piece-builder.ts';
import { HEAD_BYTES, LEAST_RECORD_BYTES, RecordParser } from './record-parser.ts';
import { UnpackedBytes } from './unpacked-bytes.ts';

/** Longest varint. */
const LENGTH_BYTES = 5;

/** Reason for a pause of the reading. */
export type ReadStep =
  | { readonly is: 'done' | 'full' }
  /** Bytes must come first: call `wait`. */
  | { readonly is: 'starved' }
  /** A record larger than a piece comes: call `admit` once there is memory for it. */
  | { readonly is: 'large'; readonly bytes: number }
  | { readonly is: 'unreadable'; readonly range: UnreadableRecords };

const DONE: ReadStep = { is: 'done' };
const FULL: ReadStep = { is: 'full' };
const STARVED: ReadStep = { is: 'starved' };

/**
 * Records of a batch, pulled synchronously as far as their bytes are available. State is in fields: a
 * generator in its place took 100 MiB more under hostile batches (chaos, producer faults).
 */
export class BatchRecords {
  readonly #batch: PlacedBatch;
  readonly #limits: ReadLimits;
  readonly #parser: RecordParser;
  readonly #reader = new VarintReader();
  readonly #unpacked: UnpackedBytes;
  /** Records of the declared count that are still to come. */
  #missing: number;
  /** Bytes left of a record that is being skipped. */
  #skip = 0;
  #admitted = 0;
  /** One past the last offset that was read or reported. */
  position: number;

  /** @throws Error when the bytes cannot be unpacked at all */
  constructor(bytes: Buffer, batch: PlacedBatch, partition: number, limits: ReadLimits) {
    const { header } = batch;
    if (header.count < 0) throw new MalformedError(`it declares ${header.count} records`);
    this.#batch = batch;
    this.#limits = limits;
    this.#parser = new RecordParser(partition, header, limits.maxHeaders);
    const packed = bytes.subarray(header.start + RECORDS_AT, header.end);
    const maxBytes = header.codec === 0 ? packed.length : limits.maxBatchUnpackedBytes;
    this.#unpacked = new UnpackedBytes(
      unpack(header.codec, packed, pieceBytesOf(limits)),
      maxBytes,
    );
    this.#missing = header.count;
    this.position = batch.from;
  }

  /**
   * Adds records to the piece until there is a reason to stop.
   * @throws Error when what follows in the batch is unreadable
   */
  advance(piece: PieceBuilder): ReadStep {
    const bytes = this.#unpacked;
    const reader = this.#reader;
    while (this.#missing > 0) {
      while (this.#skip > 0) {
        if (!bytes.need(1)) return STARVED;
        if (bytes.length === 0) break;
        this.#skip -= bytes.drop(this.#skip);
      }
      if (!bytes.need(LENGTH_BYTES)) return STARVED;
      const ahead = bytes.join(LENGTH_BYTES);
      if (ahead === 0)
        throw new MalformedError(
          `${this.#missing} of its ${this.#batch.header.count} records are missing`,
        );
      reader.reset(bytes.head, bytes.at, bytes.at + ahead);
      const length = reader.varint();
      if (length < LEAST_RECORD_BYTES)
        throw new MalformedError(`a record has a length of ${length} bytes`);
      const prefix = reader.at - bytes.at;
      const size = prefix + length;
      if (length > this.#limits.maxRecordBytes) {
        if (!bytes.need(prefix + HEAD_BYTES)) return STARVED;
        const step = this.#tooLarge(prefix, length);
        if (step !== undefined) return step;
        continue;
      }
      if (piece.isFullFor(size)) return FULL;
      if (size > pieceBytesOf(this.#limits) && bytes.length < size && this.#admitted < size)
        return { is: 'large', bytes: size };
      if (!bytes.need(size)) return STARVED;
      if (bytes.join(size) < size)
        throw new MalformedError(`a record of ${length} bytes is cut off`);
      this.#admitted = 0;
      reader.reset(bytes.head, bytes.at + prefix, bytes.at + size);
      const step = this.#read(piece, size);
      bytes.drop(size);
      if (step !== undefined) return step;
    }
    return DONE;
  }

  wait(): Promise<void> {
    return this.#unpacked.wait();
  }

  admit(bytes: number): void {
    this.#admitted = bytes;
  }

  close(): void {
    this.#missing = 0;
    this.#unpacked.close();
  }

  #read(piece: PieceBuilder, size: number): ReadStep | undefined {
    const parser = this.#parser;
    parser.head(this.#reader);
    this.#pass(parser.offset);
    if (parser.offset < this.#batch.from) return undefined;
    const record = parser.body(this.#reader);
    this.position = parser.offset + 1;
    if (typeof record !== 'number') {
      piece.add(record, size);
      return undefined;
    }
    const message = `the record has ${record} headers, and ${this.#limits.maxHeaders} are allowed`;
    return unreadable(parser.offset, parser.timestampMs, 'too_many_headers', message);
  }

  /** Passes a record without keeping its bytes. */
  #tooLarge(prefix: number, length: number): ReadStep | undefined {
    const bytes = this.#unpacked;
    const ahead = bytes.join(prefix + HEAD_BYTES);
    this.#reader.reset(bytes.head, bytes.at + prefix, bytes.at + ahead);
    this.#parser.head(this.#reader);
    const { offset, timestampMs } = this.#parser;
    this.#pass(offset);
    this.#skip = prefix + length;
    if (offset < this.#batch.from) return undefined;
    this.position = offset + 1;
    const message = `the record has ${length} bytes, and ${this.#limits.maxRecordBytes} are allowed`;
    return unreadable(offset, timestampMs, 'too_large', message);
  }

  #pass(offset: number): void {
    if (offset >= this.#batch.to) throw new MalformedError(`offset ${offset} lies beyond its end`);
    this.#missing--;
  }
}

function unreadable(
  offset: number,
  timestampMs: number,
  reason: DeadLetterReason,
  message: string,
): ReadStep {
  return {
    is: 'unreadable',
    range: { from: offset, to: offset + 1, timestampMs, poison: { reason, message } },
  };
}

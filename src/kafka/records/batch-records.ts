/** The records of one batch, one after the other, as far as memory allows. */

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
  /** The piece must be taken first. */
  | { readonly is: 'full' }
  /** Bytes must come first: call `wait`. */
  | { readonly is: 'starved' }
  /** A record larger than a piece follows, and needs memory. */
  | { readonly is: 'large'; readonly bytes: number }
  | { readonly is: 'unreadable'; readonly range: UnreadableRecords };

const FULL: ReadStep = { is: 'full' };
const STARVED: ReadStep = { is: 'starved' };

/** Records of a batch, pulled synchronously as far as their bytes are available. */
export class BatchRecords {
  /** Adds records to the piece, with pauses. @throws Error when the rest of the batch is unreadable */
  readonly steps: Iterator<ReadStep, void>;
  readonly #unpacked: UnpackedBytes;
  /** One past the last offset that was read or reported. */
  position: number;

  /** @throws Error when the bytes cannot be unpacked at all */
  constructor(
    bytes: Buffer,
    batch: PlacedBatch,
    partition: number,
    limits: ReadLimits,
    piece: PieceBuilder,
  ) {
    const { header, from } = batch;
    if (header.count < 0) throw new MalformedError(`it declares ${header.count} records`);
    const packed = bytes.subarray(header.start + RECORDS_AT, header.end);
    const maxBytes = header.codec === 0 ? packed.length : limits.maxBatchUnpackedBytes;
    const stretches = unpack(header.codec, packed, pieceBytesOf(limits));
    this.#unpacked = new UnpackedBytes(stretches, maxBytes);
    this.position = from;
    const parser = new RecordParser(partition, header, limits.maxHeaders);
    this.steps = this.#read(batch, parser, limits, piece);
  }

  wait(): Promise<void> {
    return this.#unpacked.wait();
  }

  /** Frees all memory. Repeatable. */
  close(): void {
    this.#unpacked.close();
  }

  *#read(
    { header, from, to }: PlacedBatch,
    parser: RecordParser,
    limits: ReadLimits,
    piece: PieceBuilder,
  ): Generator<ReadStep, void> {
    const bytes = this.#unpacked;
    const reader = new VarintReader();
    const { maxRecordBytes, maxHeaders } = limits;
    for (let missing = header.count; missing > 0; missing--) {
      while (!bytes.need(LENGTH_BYTES)) yield STARVED;
      const ahead = bytes.join(LENGTH_BYTES);
      if (ahead === 0)
        throw new MalformedError(`${missing} of its ${header.count} records are missing`);
      reader.reset(bytes.head, bytes.at, bytes.at + ahead);
      const length = reader.varint();
      if (length < LEAST_RECORD_BYTES)
        throw new MalformedError(`a record has a length of ${length} bytes`);

      const prefix = reader.at - bytes.at;
      const size = prefix + length;
      const isTooLarge = length > maxRecordBytes;
      if (!isTooLarge) {
        if (piece.isFullFor(size)) yield FULL;
        if (size > pieceBytesOf(limits) && bytes.length < size) yield { is: 'large', bytes: size };
      }
      const wanted = isTooLarge ? prefix + HEAD_BYTES : size;
      while (!bytes.need(wanted)) yield STARVED;
      const joined = bytes.join(wanted);
      if (joined < size && !isTooLarge)
        throw new MalformedError(`a record of ${length} bytes is cut off`);
      reader.reset(bytes.head, bytes.at + prefix, bytes.at + joined);

      parser.head(reader);
      const { offset, timestampMs } = parser;
      if (offset >= to) throw new MalformedError(`offset ${offset} lies beyond its end`);
      if (offset >= from) {
        const record = isTooLarge ? undefined : parser.body(reader);
        this.position = offset + 1;
        if (typeof record === 'object') piece.add(record, size);
        else
          yield record === undefined
            ? unreadable(offset, timestampMs, 'too_large', `${length} bytes`, maxRecordBytes)
            : unreadable(offset, timestampMs, 'too_many_headers', `${record} headers`, maxHeaders);
      }
      for (let left = size - bytes.drop(size); left > 0; left -= bytes.drop(left)) {
        while (!bytes.need(1)) yield STARVED;
        if (bytes.length === 0) break;
      }
    }
  }
}

function unreadable(
  offset: number,
  timestampMs: number,
  reason: DeadLetterReason,
  has: string,
  allowed: number,
): ReadStep {
  const poison = { reason, message: `the record has ${has}, and ${allowed} are allowed` };
  return { is: 'unreadable', range: { from: offset, to: offset + 1, timestampMs, poison } };
}

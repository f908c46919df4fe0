/**
 * Messages of formats 0 and 1, in logs that are older than Kafka 0.11: one, or a compressed set of them in the value of one
 * (https://kafka.apache.org/documentation/#messageset). They have neither headers nor transactions.
 */

import { MalformedError } from '../../base/varint-reader.ts';
import { NO_HEADERS, type SourceRecord } from '../../core/record.ts';
import type { BatchHeader, PlacedBatch } from './batch-walk.ts';
import { walkBatches } from './batch-walk.ts';
import { unpack } from './compression/unpack.ts';
import type { ReadLimits } from './fetched-bytes.ts';
import { type PieceBuilder, pieceBytesOf } from './piece-builder.ts';
import { DONE, FULL, type RecordsOfBatch, STARVED, type Step } from './step.ts';
import { UnpackedBytes } from './unpacked-bytes.ts';

export class OldMessages implements RecordsOfBatch {
  readonly #batch: PlacedBatch;
  readonly #partition: number;
  readonly #maxBytes: number;
  readonly #pieceBytes: number;
  /** The set in a compressed message; undefined for a message that is not. */
  readonly #unpacked: UnpackedBytes | undefined;
  #messages: Generator<SourceRecord> | undefined;
  #next: SourceRecord | undefined;
  #admitted = false;
  position: number;

  /** @throws Error when the bytes cannot be unpacked at all */
  constructor(bytes: Buffer, batch: PlacedBatch, partition: number, limits: ReadLimits) {
    this.#batch = batch;
    this.#partition = partition;
    this.#maxBytes = Math.min(limits.maxRecordBytes, limits.maxBatchUnpackedBytes);
    this.#pieceBytes = pieceBytesOf(limits);
    this.position = batch.from;
    const message = readMessage(bytes, batch.header, partition);
    if (batch.header.codec === 0) this.#next = message;
    else {
      const stretches = unpack(
        batch.header.codec,
        message.value ?? Buffer.alloc(0),
        this.#pieceBytes,
      );
      this.#unpacked = new UnpackedBytes(stretches, this.#maxBytes);
    }
  }

  advance(piece: PieceBuilder): Step {
    if (this.#unpacked !== undefined && this.#messages === undefined) {
      const step = this.#unpackAll(this.#unpacked);
      if (step !== undefined) return step;
    }
    for (;;) {
      const record = this.#next ?? this.#messages?.next().value;
      if (record === undefined) return DONE;
      this.#next = record;
      const { offset, key, value } = record;
      if (offset >= this.#batch.from) {
        if (offset < this.position || offset >= this.#batch.to)
          throw new MalformedError(`offset ${offset} is not in order`);
        const size = (key?.length ?? 0) + (value?.length ?? 0);
        if (piece.isFullFor(size)) return FULL;
        piece.add(record, size);
        this.position = offset + 1;
      }
      this.#next = undefined;
    }
  }

  wait(): Promise<void> {
    return this.#unpacked?.wait() ?? Promise.resolve();
  }

  admit(): void {
    this.#admitted = true;
  }

  close(): void {
    this.#unpacked?.close();
  }

  /** Only the last message of a set tells the offset of the first: all of it must be there. */
  #unpackAll(unpacked: UnpackedBytes): Step | undefined {
    if (!unpacked.need(this.#pieceBytes + 1)) return STARVED;
    if (unpacked.length > this.#pieceBytes && !this.#admitted)
      return { is: 'large', bytes: this.#maxBytes };
    if (!unpacked.need(this.#maxBytes + 1)) return STARVED;
    unpacked.join(unpacked.length);
    this.#messages = this.#inner(unpacked.head.subarray(unpacked.at));
    return undefined;
  }

  *#inner(bytes: Buffer): Generator<SourceRecord> {
    const { magic, lastOffset, logAppendTime, maxTimestamp } = this.#batch.header;
    let last = 0;
    for (const message of walkBatches(bytes)) last = message.lastOffset;
    // Format 1 counts from the first message of the set; the outer message has the offset of the last.
    const base = magic === 0 ? 0 : lastOffset - last;
    for (const message of walkBatches(bytes)) {
      if (message.magic !== magic || message.codec !== 0)
        throw new MalformedError('a set of messages holds another');
      const record = readMessage(bytes, message, this.#partition);
      yield {
        ...record,
        offset: base + record.offset,
        timestampMs: logAppendTime ? maxTimestamp : record.timestampMs,
      };
    }
  }
}

function readMessage(
  bytes: Buffer,
  { magic, start, end, baseOffset, baseTimestamp }: BatchHeader,
  partition: number,
): SourceRecord {
  const keyAt = start + (magic === 1 ? 26 : 18);
  const [key, valueAt] = readBytes(bytes, keyAt, end);
  const [value] = readBytes(bytes, valueAt, end);
  return {
    partition,
    offset: baseOffset,
    timestampMs: Number(baseTimestamp),
    key,
    value,
    headers: NO_HEADERS,
  };
}

function readBytes(bytes: Buffer, at: number, end: number): [Buffer | null, number] {
  if (at + 4 > end) throw new MalformedError('a message ends too early');
  const length = bytes.readInt32BE(at);
  if (length < 0) return [null, at + 4];
  if (length > end - at - 4) throw new MalformedError('a message ends too early');
  return [bytes.subarray(at + 4, at + 4 + length), at + 4 + length];
}

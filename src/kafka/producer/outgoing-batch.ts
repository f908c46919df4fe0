/**
 * Record batch to send (Kafka's message format v2). It is written once into a pooled buffer,
 * leaving room for the request before it. Request and header are then written in place, so that
 * nothing is copied on the way to the socket.
 */
import { writeVarint } from '../../../packages/client/src/base/varint.ts';
import type { BufferPool } from '../../core/bytes/buffer-pool.ts';
import {
  BATCH_HEADER_BYTES,
  type EncodedRecords,
  lengthInBatch,
} from '../../core/bytes/encoded-records.ts';
import type { ProduceFields } from '../kafkajs/shapes.ts';
import { crc32c } from '../records/crc32c.ts';

/** End of the length field. The length counts the bytes after it. */
const LENGTH_END = 12;
const MAGIC = 2;
const TRANSACTIONAL = 16;

/** Fields by which a broker identifies the producer of a batch, and detects duplicates. */
interface ProducerFields {
  readonly producerId: bigint;
  readonly producerEpoch: number;
  /** Sequence number of the first record. */
  readonly sequence: number;
  readonly transactional: boolean;
}

const PRODUCE = 0;
/** Size of a request without its strings. */
const FIXED_HEAD_BYTES = 40;

/** Returns the size of a produce request before its batch, given the request's strings. */
export function headBytes(
  fields: Pick<ProduceFields, 'clientId' | 'transactionalId' | 'topic'>,
): number {
  const { clientId, transactionalId, topic } = fields;
  return (
    FIXED_HEAD_BYTES +
    Buffer.byteLength(clientId) +
    Buffer.byteLength(transactionalId ?? '') +
    Buffer.byteLength(topic)
  );
}

/** Partition and records of a batch that has not been written yet. */
export interface PlannedBatch {
  readonly partition: number;
  /** Row numbers of the records, in order. */
  readonly rows: readonly number[];
  /** Size of the batch, header included. */
  readonly bytes: number;
}

export class OutgoingBatch {
  readonly partition: number;
  /** Number of records. */
  readonly count: number;
  readonly #pool: BufferPool;
  readonly #buffer: Buffer<ArrayBuffer>;
  readonly #start: number;
  readonly #end: number;
  readonly #timestamp: bigint;
  #requests = 0;

  /**
   * Writes the records. `seal` writes the header later.
   * @param roomBytes bytes to reserve before the batch: at least `headBytes` of its requests
   * @param timestampMs timestamp of every record
   */
  constructor(
    pool: BufferPool,
    records: EncodedRecords,
    plan: PlannedBatch,
    roomBytes: number,
    timestampMs = Date.now(),
  ) {
    const { partition, rows, bytes } = plan;
    this.partition = partition;
    this.count = rows.length;
    this.#pool = pool;
    this.#start = roomBytes;
    this.#end = roomBytes + bytes;
    this.#timestamp = BigInt(timestampMs);
    const buffer = pool.take(this.#end);
    this.#buffer = buffer;
    let at = roomBytes + BATCH_HEADER_BYTES;
    // A loop over `entries()` would cause most of the garbage of a transaction.
    for (let place = 0; place < rows.length; place++) {
      const row = rows[place] as number;
      at = writeVarint(buffer, lengthInBatch(records.size(row), place), at);
      buffer[at++] = 0;
      buffer[at++] = 0;
      at = writeVarint(buffer, place, at);
      at = records.copy(row, buffer, at);
    }
  }

  /** Bytes of the batch, without the request. */
  get bytes(): Buffer {
    return this.#buffer.subarray(this.#start, this.#end);
  }

  /** Writes the header of the batch, with its producer and the checksum. */
  seal({ producerId, producerEpoch, sequence, transactional }: ProducerFields): void {
    const buffer = this.#buffer;
    const start = this.#start;
    // The broker sets the base offset and the leader epoch.
    let at = buffer.writeBigInt64BE(0n, start);
    at = buffer.writeInt32BE(this.#end - start - LENGTH_END, at);
    at = buffer.writeInt32BE(0, at);
    const crcAt = buffer.writeInt8(MAGIC, at);
    const attributesAt = crcAt + 4;
    at = buffer.writeInt16BE(transactional ? TRANSACTIONAL : 0, attributesAt);
    at = buffer.writeInt32BE(this.count - 1, at);
    at = buffer.writeBigInt64BE(this.#timestamp, at);
    at = buffer.writeBigInt64BE(this.#timestamp, at);
    at = buffer.writeBigInt64BE(producerId, at);
    at = buffer.writeInt16BE(producerEpoch, at);
    at = buffer.writeInt32BE(sequence, at);
    buffer.writeInt32BE(this.count, at);
    buffer.writeUInt32BE(crc32c(buffer, attributesAt, this.#end), crcAt);
  }

  /**
   * Writes a produce request before the batch.
   * @returns the whole request
   * @throws RangeError if there is too little room
   */
  request(fields: ProduceFields): Buffer {
    this.#requests++;
    const buffer = this.#buffer;
    const start = this.#start - headBytes(fields);
    let at = buffer.writeInt32BE(this.#end - start - 4, start);
    at = buffer.writeInt16BE(PRODUCE, at);
    at = buffer.writeInt16BE(fields.apiVersion, at);
    at = buffer.writeInt32BE(fields.correlationId, at);
    at = writeText(buffer, fields.clientId, at);
    at = writeText(buffer, fields.transactionalId, at);
    at = buffer.writeInt16BE(fields.acks, at);
    at = buffer.writeInt32BE(fields.timeoutMs, at);
    at = buffer.writeInt32BE(1, at);
    at = writeText(buffer, fields.topic, at);
    at = buffer.writeInt32BE(1, at);
    at = buffer.writeInt32BE(this.partition, at);
    buffer.writeInt32BE(this.#end - this.#start, at);
    return buffer.subarray(start, this.#end);
  }

  /**
   * Releases the buffer. Must be called once. If the only request succeeded, the broker has read
   * all of it, and the buffer returns to the pool. Otherwise a socket may still be using the
   * buffer, so the pool drops it.
   * @param answered true if the last request succeeded
   */
  release(answered: boolean): void {
    if (answered && this.#requests === 1) this.#pool.give(this.#buffer);
    else this.#pool.drop(this.#buffer);
  }
}

function writeText(to: Buffer, text: string | undefined, at: number): number {
  if (text === undefined) return to.writeInt16BE(-1, at);
  const size = to.write(text, at + 2);
  to.writeInt16BE(size, at);
  return at + 2 + size;
}

/**
 * Record batches (Kafka's message format v2) written into one buffer of the right size. kafkajs takes a buffer of at least
 * 512 bytes, filled with zeros, for each record and each header, and copies every record six times on its way out: for small
 * records that is most of the time a transaction takes (npm run bench).
 */
import { crc32c } from './records/crc32c.ts';

export type Bytes = Buffer | string | null | undefined;

export interface RecordFields {
  readonly offsetDelta?: number;
  /** Milliseconds after the batch's first timestamp. */
  readonly timestampDelta?: number;
  readonly key?: Bytes;
  readonly value?: Bytes;
  /** A list, unlike kafkajs's own: see `writable` in send-plan.ts. */
  readonly headers?: readonly (readonly [name: string, value: Bytes])[];
}

/** Records of one topic carry the same few header names, and short ones. */
const NAMES = new Map<string, Buffer>();
const MAX_NAMES = 1_000;
const MAX_NAME_CHARACTERS = 100;

function nameBytes(name: string): Buffer {
  let bytes = NAMES.get(name);
  if (bytes === undefined) {
    bytes = Buffer.from(name);
    if (NAMES.size < MAX_NAMES && name.length <= MAX_NAME_CHARACTERS) NAMES.set(name, bytes);
  }
  return bytes;
}

/** A record measured, ready to be written where its place is. */
export class MeasuredRecord {
  readonly #offsetDelta: number;
  readonly #timestampDelta: number;
  readonly #key: Buffer | null;
  readonly #value: Buffer | null;
  /** Name and value in turn; a value may be null. */
  readonly #headers: (Buffer | null)[] = [];
  readonly #bodySize: number;
  readonly size: number;

  constructor({ offsetDelta = 0, timestampDelta = 0, key, value, headers = [] }: RecordFields) {
    this.#offsetDelta = offsetDelta;
    this.#timestampDelta = timestampDelta;
    this.#key = toBuffer(key);
    this.#value = toBuffer(value);
    for (const [name, value] of headers) this.#headers.push(nameBytes(name), toBuffer(value));
    let size = 1 + varIntSize(timestampDelta) + varIntSize(offsetDelta) + bytesSize(this.#key) + bytesSize(this.#value);
    size += varIntSize(this.#headers.length / 2);
    for (const part of this.#headers) size += bytesSize(part);
    this.#bodySize = size;
    this.size = varIntSize(size) + size;
  }

  /** @returns where the next record goes. */
  write(to: Buffer, start: number): number {
    let at = writeVarInt(to, this.#bodySize, start);
    to[at++] = 0;
    at = writeVarInt(to, this.#timestampDelta, at);
    at = writeVarInt(to, this.#offsetDelta, at);
    at = writeBytes(to, this.#key, at);
    at = writeBytes(to, this.#value, at);
    at = writeVarInt(to, this.#headers.length / 2, at);
    for (const part of this.#headers) at = writeBytes(to, part, at);
    return at;
  }
}

export interface BatchFields {
  /** Codec, and whatever else the low bits of the attributes say. */
  readonly attributes: number;
  readonly partitionLeaderEpoch: number;
  readonly firstOffset: bigint;
  readonly lastOffsetDelta: number;
  readonly firstTimestamp: bigint;
  readonly maxTimestamp: bigint;
  readonly producerId: bigint;
  readonly producerEpoch: number;
  readonly firstSequence: number;
  readonly count: number;
}

const MAGIC = 2;
const CRC_AT = 17;
const ATTRIBUTES_AT = 21;
const RECORDS_AT = 61;

export function encodeBatch(fields: BatchFields, records: readonly MeasuredRecord[]): Buffer {
  const batch = Buffer.allocUnsafe(records.reduce((size, record) => size + record.size, RECORDS_AT));
  batch.writeBigInt64BE(fields.firstOffset, 0);
  batch.writeInt32BE(batch.length - 12, 8);
  batch.writeInt32BE(fields.partitionLeaderEpoch, 12);
  batch.writeInt8(MAGIC, 16);
  batch.writeInt16BE(fields.attributes, ATTRIBUTES_AT);
  batch.writeInt32BE(fields.lastOffsetDelta, 23);
  batch.writeBigInt64BE(fields.firstTimestamp, 27);
  batch.writeBigInt64BE(fields.maxTimestamp, 35);
  batch.writeBigInt64BE(fields.producerId, 43);
  batch.writeInt16BE(fields.producerEpoch, 51);
  batch.writeInt32BE(fields.firstSequence, 53);
  batch.writeInt32BE(fields.count, 57);
  let at = RECORDS_AT;
  for (const record of records) at = record.write(batch, at);
  batch.writeUInt32BE(crc32c(batch, ATTRIBUTES_AT), CRC_AT);
  return batch;
}

function toBuffer(bytes: Bytes): Buffer | null {
  if (bytes === null || bytes === undefined) return null;
  return typeof bytes === 'string' ? Buffer.from(bytes) : bytes;
}

/** Zigzag: small numbers of either sign stay short. Plain arithmetic, because a timestamp delta may pass 32 bits. */
const zigzag = (value: number): number => (value >= 0 ? value * 2 : -value * 2 - 1);

function varIntSize(value: number): number {
  let rest = zigzag(value);
  let size = 1;
  while (rest >= 0x80) {
    rest = Math.floor(rest / 0x80);
    size++;
  }
  return size;
}

function writeVarInt(to: Buffer, value: number, start: number): number {
  let rest = zigzag(value);
  let at = start;
  while (rest >= 0x80) {
    to[at++] = (rest % 0x80) | 0x80;
    rest = Math.floor(rest / 0x80);
  }
  to[at++] = rest;
  return at;
}

function bytesSize(bytes: Buffer | null): number {
  return bytes === null ? varIntSize(-1) : varIntSize(bytes.length) + bytes.length;
}

function writeBytes(to: Buffer, bytes: Buffer | null, start: number): number {
  if (bytes === null) return writeVarInt(to, -1, start);
  const at = writeVarInt(to, bytes.length, start);
  bytes.copy(to, at);
  return at + bytes.length;
}

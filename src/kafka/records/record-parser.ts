/** Parser of records of message format v2. */

import {
  MalformedError,
  NO_BYTES,
  type VarintReader,
} from '../../../packages/client/src/base/varint.ts';
import { type RecordPlaces, RecordView } from '../../core/bytes/record-view.ts';
import {
  type Header,
  NO_HEADERS,
  type RecordHeaders,
  type SourceRecord,
} from '../../core/record.ts';
import type { BatchHeader } from './batch-walk.ts';

/** Maximum size of the fields before the key: attributes 1 byte, timestamp delta 10 and offset delta 5. */
export const HEAD_BYTES = 16;
/** Minimum size of a record: one byte for each field, and no key, value or headers. */
export const LEAST_RECORD_BYTES = 6;

/** Bound below which doubles represent every integer, and the sum of any two integers, exactly. */
const EXACT = 2 ** 51;

/** Parser with the last record's positions as fields. RecordView, the only object per record, copies them. */
export class RecordParser implements RecordPlaces {
  readonly partition: number;
  /** `head` sets the offset and the timestamp, `body` the other fields. */
  offset = -1;
  timestampMs = -1;
  bytes = NO_BYTES;
  keyStart = 0;
  keyLength = -1;
  valueStart = 0;
  valueLength = -1;
  headers: RecordHeaders = NO_HEADERS;
  readonly #batch: BatchHeader;
  readonly #maxHeaders: number;
  readonly #baseTimestampMs: number;
  #lastDelta = -1;
  /** Number of records after the current one. */
  #behind: number;

  constructor(partition: number, batch: BatchHeader, maxHeaders: number) {
    this.partition = partition;
    this.#batch = batch;
    this.#maxHeaders = maxHeaders;
    this.#baseTimestampMs = Number(batch.baseTimestamp);
    this.#behind = batch.count;
  }

  /**
   * Reads the offset and timestamp of the next record.
   * @throws MalformedError also if the offset is not above the previous one, or leaves too few
   * offsets for the records that follow
   */
  head(reader: VarintReader): void {
    reader.skip(1);
    this.timestampMs = this.#timestamp(reader);
    const delta = reader.varint();
    const { baseOffset, lastOffset } = this.#batch;
    const room = lastOffset - baseOffset - --this.#behind;
    if (delta <= this.#lastDelta || delta > room) {
      throw new MalformedError(
        `offset delta ${delta} is not between ${this.#lastDelta + 1} and ${room}`,
      );
    }
    this.#lastDelta = delta;
    this.offset = baseOffset + delta;
  }

  /**
   * Returns the int64 timestamp, rounded only once: a record must have the same timestamp if its
   * batch is compacted before it is reread.
   */
  #timestamp(reader: VarintReader): number {
    const { logAppendTime, maxTimestamp, baseTimestamp } = this.#batch;
    const { at } = reader;
    const delta = reader.varlong();
    if (logAppendTime) return maxTimestamp;
    if (Math.abs(this.#baseTimestampMs) < EXACT && Math.abs(delta) < EXACT)
      return this.#baseTimestampMs + delta;
    return Number(BigInt.asIntN(64, baseTimestamp + reader.exactVarlong(at)));
  }

  /**
   * Reads the rest of the record. @returns the record, or its header count if that is too large
   * @throws MalformedError
   */
  body(reader: VarintReader): SourceRecord | number {
    this.bytes = reader.bytes;
    this.keyLength = reader.part();
    this.keyStart = reader.at - this.keyLength;
    this.valueLength = reader.part();
    this.valueStart = reader.at - this.valueLength;
    const count = reader.varint();
    // Each header takes at least two bytes.
    if (count < 0 || count * 2 > reader.left)
      throw new MalformedError(`a record declares ${count} headers in ${reader.left} bytes`);
    if (count > this.#maxHeaders) return count;
    this.headers = count === 0 ? NO_HEADERS : readHeaders(reader, count);
    if (reader.left !== 0)
      throw new MalformedError(`a record has ${reader.left} bytes after its end`);
    return new RecordView(this);
  }
}

function readHeaders(reader: VarintReader, count: number): RecordHeaders {
  const headers: Header[] = [];
  for (let n = 0; n < count; n++) headers.push([reader.text(), reader.view()]);
  return headers;
}

/**
 * Source record as a view of the fetched bytes. Key and value become Buffers only on access.
 * Usually only the position of the value is needed, and the Buffers would be most of the garbage.
 */
import type { RecordHeaders, SourceRecord } from '../record.ts';

/** Positions of a record's parts in `bytes`. A negative length means null. */
export interface RecordPlaces {
  readonly partition: number;
  readonly offset: number;
  readonly timestampMs: number;
  readonly bytes: Buffer;
  readonly keyStart: number;
  readonly keyLength: number;
  readonly valueStart: number;
  readonly valueLength: number;
  readonly headers: RecordHeaders;
}

export class RecordView implements SourceRecord {
  readonly partition: number;
  readonly offset: number;
  readonly timestampMs: number;
  readonly headers: RecordHeaders;
  readonly #bytes: Buffer;
  readonly #keyStart: number;
  readonly #keyLength: number;
  readonly #valueStart: number;
  readonly #valueLength: number;

  constructor(places: RecordPlaces) {
    this.partition = places.partition;
    this.offset = places.offset;
    this.timestampMs = places.timestampMs;
    this.headers = places.headers;
    this.#bytes = places.bytes;
    this.#keyStart = places.keyStart;
    this.#keyLength = places.keyLength;
    this.#valueStart = places.valueStart;
    this.#valueLength = places.valueLength;
  }

  get key(): Buffer | null {
    return this.#keyLength < 0
      ? null
      : this.#bytes.subarray(this.#keyStart, this.#keyStart + this.#keyLength);
  }

  get value(): Buffer | null {
    return this.#valueLength < 0
      ? null
      : this.#bytes.subarray(this.#valueStart, this.#valueStart + this.#valueLength);
  }

  /** Size of the value in bytes; negative for null. */
  get valueLength(): number {
    return this.#valueLength;
  }

  /** Returns the position of the value, which must not be null. */
  valuePlace(): BytePlace {
    const start = this.#valueStart;
    return { bytes: this.#bytes, start, end: start + this.#valueLength };
  }
}

/** Range of a buffer. */
export interface BytePlace {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
}

/** Returns the size of a record's value in bytes; -1 for null. */
export function valueLengthOf(record: SourceRecord): number {
  return record instanceof RecordView ? record.valueLength : (record.value?.length ?? -1);
}

/** Returns the position of a record's value without creating a Buffer. */
export function valuePlaceOf(record: SourceRecord & { readonly value: Buffer }): BytePlace {
  if (record instanceof RecordView) return record.valuePlace();
  const { value } = record;
  return { bytes: value, start: 0, end: value.length };
}

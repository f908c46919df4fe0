/**
 * Source record as a view of the bytes that it was read from. Key and value become Buffers when they are asked for: of most records
 * nothing but the text of the value is read, and the Buffers would be most of their garbage.
 */
import type { RecordHeaders, SourceRecord } from '../record.ts';
import { textOf } from './utf8.ts';

/** Places of a record's parts in bytes. A negative length: there is none. */
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

  /** Size of the value, bytes; negative when there is none. */
  get valueLength(): number {
    return this.#valueLength;
  }

  /** The value as text; undefined when there is none, or it is not UTF-8. */
  valueText(): string | undefined {
    return this.#valueLength < 0
      ? undefined
      : textOf(this.#bytes, this.#valueStart, this.#valueStart + this.#valueLength);
  }
}

/** Returns the size of a record's value, bytes; -1 when there is none. */
export function valueLengthOf(record: SourceRecord): number {
  return record instanceof RecordView ? record.valueLength : (record.value?.length ?? -1);
}

/** Returns the value of a record as text; undefined when there is none, or it is not UTF-8. */
export function valueTextOf(record: SourceRecord): string | undefined {
  if (record instanceof RecordView) return record.valueText();
  return record.value === null ? undefined : textOf(record.value);
}

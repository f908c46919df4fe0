/**
 * Source record as a view of the fetched bytes. Key and value become Buffers on access: of most
 * records only the text of the value is read, and the Buffers would be most of the garbage.
 */
import type { RecordHeaders, SourceRecord } from '../record.ts';

/** Places of the parts of a record; a negative length means null. */
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

  /** Size of the value, bytes; negative for null. */
  get valueLength(): number {
    return this.#valueLength;
  }

  /** Returns the value as text; undefined for null, or if it is not UTF-8. */
  valueText(): string | undefined {
    return this.#valueLength < 0
      ? undefined
      : textOf(this.#bytes, this.#valueStart, this.#valueStart + this.#valueLength);
  }
}

/** Returns the size of a record's value, bytes; -1 for null. */
export function valueLengthOf(record: SourceRecord): number {
  return record instanceof RecordView ? record.valueLength : (record.value?.length ?? -1);
}

/** Returns a record's value as text; undefined for null, or if it is not UTF-8. */
export function valueTextOf(record: SourceRecord): string | undefined {
  if (record instanceof RecordView) return record.valueText();
  return record.value === null ? undefined : textOf(record.value);
}

/** Character that decoding puts in place of bytes that are not UTF-8. */
const REPLACEMENT = '\ufffd';

/**
 * Returns bytes as text; undefined if they are not UTF-8. They are decoded without validation; only
 * a text with replacement characters is compared with the bytes.
 */
export function textOf(bytes: Buffer, start = 0, end = bytes.length): string | undefined {
  const text = bytes.toString('utf8', start, end);
  return text.includes(REPLACEMENT) && !Buffer.from(text).equals(bytes.subarray(start, end))
    ? undefined
    : text;
}

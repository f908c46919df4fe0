/**
 * Records as Kafka delivers and accepts them.
 *
 * Offsets are plain numbers. Kafka's 64-bit offsets exceed 2^53 only after 285 years at a million
 * records a second (ADR 0024). The Kafka adapter rejects an offset that is not a safe integer.
 */
import type { DeadLetterReason } from './outcome/dead-letter-reason.ts';

/** One header. Kafka allows any name, repeated names, and null values. */
export type Header = readonly [name: string, value: Buffer | string | null];

/** Headers of a record, in their original order. */
export type RecordHeaders = readonly Header[];

export const NO_HEADERS: RecordHeaders = Object.freeze([]);

/**
 * Returns the value of the last header with this name, which is the one that Kafka's clients use,
 * or undefined if there is none.
 */
export function lastHeader(
  headers: RecordHeaders,
  name: string,
): Buffer | string | null | undefined {
  return headers.findLast(([one]) => one === name)?.[1];
}

/** Coordinates of a record in the pipeline's source topic. */
export interface SourceCoordinate {
  readonly partition: number;
  readonly offset: number;
}

/** Returns a record's key in a map of records of one topic. */
export const placeOf = ({ partition, offset }: SourceCoordinate): string =>
  `${partition}:${offset}`;

export interface SourceRecord extends SourceCoordinate {
  /** Milliseconds since the epoch, as stored by the broker. */
  readonly timestampMs: number;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: RecordHeaders;
}

/** Record to produce. Its key selects the partition in the same way as Java's default partitioner. */
export interface OutgoingRecord {
  readonly key: Buffer | string | null;
  readonly value: Buffer | string | null;
  readonly headers?: RecordHeaders;
}

/**
 * Part of a scanned JSON text: a string with its quotes, or an object. It is a view of `bytes`.
 * `core/detached.ts` copies such parts.
 */
export interface JsonPart {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
  /** True if a string or a member name in it contains a backslash. */
  readonly hasEscapes: boolean;
}

/** Decoded source record: one item to review. Its key, header values and parts may be views of the record. */
export interface ContentItem extends SourceCoordinate {
  readonly timestampMs: number;
  readonly key: Buffer | null;
  /** Key of the item's terminal record, if it differs from `key`. */
  readonly outputKey?: Buffer | null;
  /** Headers to copy to the terminal record. */
  readonly headers: RecordHeaders;
  /** Content type of the item and its batch. */
  readonly type: string;
  /** Name of the item's lane. undefined for the default lane. */
  readonly lane?: string | undefined;
  /** JSON string: the content to review, the type of an imported record, or the id of a decision. */
  readonly content: JsonPart;
  /** JSON object: the metadata, or the data of an imported record. Its whitespace is unchanged. */
  readonly metadata: JsonPart;
  /** JSON string: the decision that the producer expects, for comparison. */
  readonly expected: JsonPart | undefined;
  /** Number of resets of the group before this record was read. It is part of the event id. */
  readonly replay: number;
  /** Size of the item in bytes. Counts towards a batch's size limit and the memory of rereads. */
  readonly bytes: number;
}

export interface Poison {
  readonly reason: DeadLetterReason;
  /** States what was expected and where. Never contains content (I6). */
  readonly message: string;
  /** Exception class and stack frames of an internal error, for the log. */
  readonly crash?: string;
}

export type Decoded =
  | { readonly item: ContentItem }
  | { readonly poison: Poison }
  | { readonly skip: string };

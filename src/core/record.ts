/**
 * Records as Kafka delivers and accepts them.
 *
 * Offsets are plain numbers: Kafka's 64-bit offsets exceed 2^53 only after 285 years at a million
 * records a second (ADR 0024); the Kafka adapter rejects an offset that is not a safe integer.
 */
import type { DeadLetterReason } from './outcome/dead-letter-reason.ts';

/** One header. Kafka allows any name, a name several times, and no value. */
export type Header = readonly [name: string, value: Buffer | string | null];

/** The headers of a record, in its own order. */
export type RecordHeaders = readonly Header[];

export const NO_HEADERS: RecordHeaders = Object.freeze([]);

/**
 * Returns the last of several values, as Kafka's own clients do; undefined without such a header.
 */
export function lastHeader(
  headers: RecordHeaders,
  name: string,
): Buffer | string | null | undefined {
  return headers.findLast(([one]) => one === name)?.[1];
}

/** Coordinates of a source record; the topic is the pipeline's own. */
export interface SourceCoordinate {
  readonly partition: number;
  readonly offset: number;
}

/** Key of a record in maps of one topic. */
export const placeOf = ({ partition, offset }: SourceCoordinate): string =>
  `${partition}:${offset}`;

export interface SourceRecord extends SourceCoordinate {
  /** Milliseconds since the epoch, as the broker keeps it. */
  readonly timestampMs: number;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: RecordHeaders;
}

/** A record to be produced. Its partition is chosen from the key, as Java's default partitioner would. */
export interface OutgoingRecord {
  readonly key: Buffer | string | null;
  readonly value: Buffer | string | null;
  readonly headers?: RecordHeaders;
}

/**
 * Part of a JSON text that was scanned: a string with its quotes, or an object. A view, valid as
 * long as the bytes are; `core/detached.ts` copies it.
 */
export interface JsonPart {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
  /** True if a string in it, or a name, has a backslash. */
  readonly hasEscapes: boolean;
}

/**
 * A decoded source record: one item to review. Its key, its header values and its parts may be
 * views of the record.
 */
export interface ContentItem extends SourceCoordinate {
  readonly timestampMs: number;
  readonly key: Buffer | null;
  /** Key of its terminal record, if that is not `key`. */
  readonly outputKey?: Buffer | null;
  /** Headers to copy to the terminal record. */
  readonly headers: RecordHeaders;
  /** Content type of its batch. */
  readonly type: string;
  /** Name of its lane; undefined for the default lane. */
  readonly lane?: string | undefined;
  /** A string: the content to review, the type of an imported record, or the id of a decision. */
  readonly content: JsonPart;
  /** An object: the metadata, or the data of an imported record. As it was written, with blanks. */
  readonly metadata: JsonPart;
  /** A string: the decision that the producer expects, for comparison. */
  readonly expected: JsonPart | undefined;
  /** Resets of the group to before this record (normally 0); part of the event id. */
  readonly replay: number;
  /** Bytes this item is counted with in the memory budget and in the batch's size limit. */
  readonly bytes: number;
}

export interface Poison {
  readonly reason: DeadLetterReason;
  /** Expectation and place; never the content (I6). */
  readonly message: string;
  /** Exception class and stack frames of an internal error, for the log. */
  readonly crash?: string;
}

export type Decoded =
  | { readonly item: ContentItem }
  | { readonly poison: Poison }
  | { readonly skip: string };

/** How the value of a source record is written: JSON, Avro, a CloudEvent, … Implemented in src/events/formats. */
import { valueLengthOf } from '../core/bytes/record-view.ts';
import type { Poison, SourceRecord } from '../core/record.ts';

/** The value of a source record, understood: what a mapping looks things up in. */
export interface ContentEvent {
  /** As JSON.parse would give it: an object. Integers and decimals beyond a double may have lost digits here. */
  readonly document: object;
  /**
   * The same, but a number that a double would change is kept as its text (core/exact-json), and so is a decimal that a double would
   * write with another scale, where the format has decimals: 10.00. undefined when the value is nested too deeply for that. Asked for
   * only when what a mapping found has numbers.
   */
  exact(): object | undefined;
}

export type ReadEvent =
  | { readonly event: ContentEvent; readonly poison?: never }
  | { readonly event?: never; readonly poison: Poison };

/** A record that has a value. */
export type ValuedRecord = SourceRecord & { readonly value: Buffer };

export function hasValue(record: SourceRecord): record is ValuedRecord {
  return valueLengthOf(record) >= 0;
}

/** What of a schema can be read, known before a record comes that was written with it. */
export interface SchemaVerdict {
  /** Why every record that is written with it becomes a dead letter; absent when some are read. */
  readonly refusal?: string;
  /** Which of its records become dead letters, and why, where others are read. */
  readonly exceptions: readonly string[];
}

export interface EventFormat {
  /** As configuration names it. */
  readonly name: string;
  /**
   * Loads what reading these records needs (their schemas), so that `read` need not wait. undefined: nothing is missing.
   * While the registry cannot be reached it keeps trying; the promise only rejects with the signal's reason.
   */
  prepare?(records: readonly SourceRecord[], signal: AbortSignal): Promise<void> | undefined;
  /**
   * What of a schema can be read, where values name one. Waits for the registry as `prepare` does.
   * @throws Error when the registry does not know it, and the signal's reason
   */
  judge?(schemaId: number, signal: AbortSignal): Promise<SchemaVerdict>;
  /** After `prepare`; throws NotPrepared when what that loaded is no longer at hand. Messages never show what the record holds (I6). */
  read(record: ValuedRecord): ReadEvent;
}

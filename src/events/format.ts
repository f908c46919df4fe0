/** Formats of the values of source records: JSON, Avro, CloudEvents, … They are in events/formats. */
import type { Result } from '../base/result.ts';
import { valueLengthOf } from '../core/bytes/record-view.ts';
import type { Poison, SourceRecord } from '../core/record.ts';

/** The value of a source record, decoded: mappings look things up in it. */
export interface DecodedEvent {
  /** Document as JSON.parse would give it: numbers beyond a double may have lost digits. */
  readonly document: object;
  /**
   * Returns the same document, but a number that a double would change is kept as its text
   * (base/json/exact-json), and so is a decimal that a double would write with another scale, where
   * the format has decimals: 10.00. undefined when the value is nested too deeply for that.
   * Called only when a mapping found numbers.
   */
  exact(): object | undefined;
}

export type ReadEvent =
  | { readonly event: DecodedEvent; readonly poison?: never }
  | { readonly event?: never; readonly poison: Poison };

/** A record that has a value. */
export type ValuedRecord = SourceRecord & { readonly value: Buffer };

export function hasValue(record: SourceRecord): record is ValuedRecord {
  return valueLengthOf(record) >= 0;
}

/**
 * Verdict on a schema before any of its records comes: which of them become dead letters, and why;
 * an error where all do.
 */
export type SchemaVerdict = Result<readonly string[]>;

export interface EventFormat {
  /** Name in the configuration. */
  readonly name: string;
  /**
   * Loads the schemas of these records, so that `read` need not wait; undefined when none is
   * missing. While the registry cannot be reached it keeps trying; the promise only rejects with
   * the signal's reason.
   */
  prepare?(records: readonly SourceRecord[], signal: AbortSignal): Promise<void> | undefined;
  /**
   * Judges a schema, where values name one. Waits for the registry as `prepare` does.
   * @throws Error when the registry does not know it, and the signal's reason
   */
  judge?(schemaId: number, signal: AbortSignal): Promise<SchemaVerdict>;
  /** Reads a record, for which `prepare` has nothing to load. */
  read(record: ValuedRecord): ReadEvent;
}

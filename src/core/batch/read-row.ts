/** Rows of a result file, one by one, as they are read. */
import type { OutgoingRecord, Poison, SourceCoordinate } from '../record.ts';

/** One row of a result file that names a source record. */
export interface ResultRow extends SourceCoordinate {
  readonly status: 'success' | 'error';
  /** Result of the service, for the mix of decisions; absent when there is none. */
  readonly result?: string | undefined;
  readonly record: OutgoingRecord;
}

/** A row that names nothing that could be a source record. */
export interface MalformedRow {
  readonly malformed: string;
  /** Present when the connector itself failed on the row: exception class and stack frames. */
  readonly crash?: string;
}

/** A row that names a source record, and of which no terminal record can be made. */
export interface BrokenRow extends SourceCoordinate {
  readonly poison: Poison;
}

export type ReadRow = ResultRow | MalformedRow | BrokenRow;

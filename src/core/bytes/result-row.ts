/** Rows of the results of a job: of its result file, or of the answers about its records. */
import type { OutgoingRecord, Poison, SourceCoordinate } from '../record.ts';

/** Properties of a terminal record that are counted; many rows share them. */
export interface RowOutcome {
  readonly isError: boolean;
  /** Result of the review, if any. */
  readonly result?: string | undefined;
}

/** Row with the terminal record of a source record. */
export interface ResultRow extends SourceCoordinate, Omit<RowOutcome, 'isError'> {
  readonly status: 'success' | 'error';
  readonly record: OutgoingRecord;
}

/** A row that names no source record. */
export interface MalformedRow {
  readonly malformed: string;
  /** True if its signature is wrong or missing. */
  readonly forged?: boolean;
  /** Exception class and stack frames, if the connector itself failed on the row. */
  readonly crash?: string;
}

/** A row that names a source record but cannot become a terminal record. */
export interface BrokenRow extends SourceCoordinate {
  readonly poison: Poison;
}

/** A row that names a source record. */
export type ItemRow = (ResultRow | BrokenRow) & {
  /** True if the record ends only because its time is over. */
  readonly overdue?: boolean;
};

export type ReadRow = ItemRow | MalformedRow;

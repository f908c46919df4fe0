/** Batches on disk. */
import type { BatchCounts, BatchStatus } from '../../service/contract.ts';
import type { Database, Row } from '../database.ts';
import { textOrNull, WAITING, type Work, WorkStore, workOf } from '../work/work-store.ts';

export interface Batch extends Work<BatchStatus> {
  readonly type: string;
  /** Of the result file. */
  readonly etag: string | null;
  /** Rows of the upload; 0 before they are read. */
  readonly rows: number;
  /** Rows judged with status ERROR. */
  readonly errorRows: number;
}

export interface Reviewed {
  readonly rows: number;
  readonly errorRows: number;
  readonly etag: string | null;
  readonly problem: string | null;
}

const TABLE = `
  CREATE TABLE IF NOT EXISTS batches (
    seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, type TEXT NOT NULL, status TEXT NOT NULL, created_ms REAL NOT NULL,
    uploaded_ms REAL, event_due_ms REAL, finish_due_ms REAL, fault TEXT, reviewed INTEGER NOT NULL DEFAULT 0,
    etag TEXT, rows INTEGER NOT NULL DEFAULT 0, error_rows INTEGER NOT NULL DEFAULT 0, problem TEXT, finished_ms REAL
  ) STRICT;
`;

export class BatchStore extends WorkStore<Batch> {
  readonly busy = 'PENDING';

  constructor(database: Database) {
    super(database, 'batches');
    database.define(TABLE);
  }

  create(id: string, type: string, createdMs: number): void {
    this.database.run(
      'INSERT INTO batches (id, type, status, created_ms) VALUES (?, ?, ?, ?)',
      id,
      type,
      WAITING,
      createdMs,
    );
  }

  totals(): { readonly batches: number; readonly uploads: number; readonly rows: number } {
    const sql =
      'SELECT count(*) AS batches, count(uploaded_ms) AS uploads, coalesce(sum(rows), 0) AS rows FROM batches';
    const row = this.database.first(sql);
    return {
      batches: Number(row?.batches),
      uploads: Number(row?.uploads),
      rows: Number(row?.rows),
    };
  }

  reviewed(id: string, { rows, errorRows, etag, problem }: Reviewed): void {
    const sql =
      'UPDATE batches SET reviewed = 1, rows = ?, error_rows = ?, etag = ?, problem = ? WHERE id = ?';
    this.database.run(sql, rows, errorRows, etag, problem, id);
  }

  protected override itemOf(row: Row): Batch {
    return {
      ...workOf(row),
      status: row.status as BatchStatus,
      processed: row.reviewed === 1,
      type: String(row.type),
      etag: textOrNull(row.etag),
      rows: Number(row.rows),
      errorRows: Number(row.error_rows),
    };
  }
}

/** Where the decisions of a batch are (service-interface.md 2.1): all in one place, as the batch moves as a whole. */
export function countsOf({ status, rows, errorRows }: Batch): BatchCounts {
  const none = {
    batch_count: rows,
    success_count: 0,
    pending_count: 0,
    error_count: 0,
    cancelled_count: 0,
  };
  switch (status) {
    case 'SUCCESS':
      return { ...none, success_count: rows - errorRows, error_count: errorRows };
    case 'ERROR':
      return { ...none, error_count: rows };
    case 'CANCELLED':
      return { ...none, cancelled_count: rows };
    default:
      return { ...none, pending_count: rows };
  }
}

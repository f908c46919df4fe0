/** Batches on disk (SQLite). Every call is one statement: a process killed at any time leaves the table consistent. */
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import type { BatchCounts, BatchStatus } from '../../service/contract.ts';
import type { ReviewFault } from '../faults/schema.ts';

export interface Batch {
  readonly id: string;
  readonly type: string;
  readonly status: BatchStatus;
  readonly createdMs: number;
  /** When the upload was complete; null before. */
  readonly uploadedMs: number | null;
  /** When the service hears of the upload. */
  readonly eventDueMs: number | null;
  /** When it came to its end; null before. */
  readonly finishedMs: number | null;
  /** When the review may be finished; null before it has begun, and for a review that is stuck for good. */
  readonly finishDueMs: number | null;
  /** The scripted fault that hits this batch's review. */
  readonly fault: ReviewFault | null;
  /** True once every row is judged and the result file is written. */
  readonly reviewed: boolean;
  /** Of the result file. */
  readonly etag: string | null;
  /** Rows of the upload; 0 before they are read. */
  readonly rows: number;
  /** Rows judged with status ERROR. */
  readonly errorRows: number;
  /** Why the batch went to ERROR. */
  readonly problem: string | null;
}

export interface Reviewed {
  readonly rows: number;
  readonly errorRows: number;
  readonly etag: string | null;
  readonly problem: string | null;
}

const FORMAT = 1;
const TABLES = `
  CREATE TABLE IF NOT EXISTS batches (
    seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, type TEXT NOT NULL, status TEXT NOT NULL, created_ms REAL NOT NULL,
    uploaded_ms REAL, event_due_ms REAL, finish_due_ms REAL, fault TEXT, reviewed INTEGER NOT NULL DEFAULT 0,
    etag TEXT, rows INTEGER NOT NULL DEFAULT 0, error_rows INTEGER NOT NULL DEFAULT 0, problem TEXT, finished_ms REAL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
`;

export class BatchStore {
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();

  /** @throws when another process has the database open, or another version wrote it. */
  constructor(path: string) {
    this.#database = new DatabaseSync(path);
    try {
      this.#database.exec('PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;');
      this.#database.exec(TABLES);
      const format = Number(this.setting('format', () => String(FORMAT)));
      if (format !== FORMAT) throw new Error(`its format is ${format}, this version reads ${FORMAT}`);
    } catch (cause) {
      this.#database.close();
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new Error(`${path} cannot be used (${reason}); stop the other sandbox, or use another data directory`, { cause });
    }
  }

  /** A value kept for ever, made on first use. */
  setting(name: string, make: () => string): string {
    this.#run('INSERT OR IGNORE INTO settings VALUES (?, ?)', name, make());
    return String(this.#statement('SELECT value FROM settings WHERE name = ?').get(name)?.value);
  }

  create(id: string, type: string, createdMs: number): void {
    this.#run("INSERT INTO batches (id, type, status, created_ms) VALUES (?, ?, 'WAITING_FOR_UPLOAD', ?)", id, type, createdMs);
  }

  get(id: string): Batch | undefined {
    const row = this.#statement('SELECT * FROM batches WHERE id = ?').get(id);
    return row && batchOf(row);
  }

  newest(): Batch | undefined {
    const row = this.#statement('SELECT * FROM batches ORDER BY seq DESC LIMIT 1').get();
    return row && batchOf(row);
  }

  /** In the order of creation. */
  all(): Batch[] {
    return this.#statement('SELECT * FROM batches ORDER BY seq').all().map(batchOf);
  }

  /** Batches that are not at their end. */
  open(): Batch[] {
    const rows = this.#statement("SELECT * FROM batches WHERE status IN ('WAITING_FOR_UPLOAD', 'PENDING') ORDER BY seq").all();
    return rows.map(batchOf);
  }

  totals(): { readonly batches: number; readonly uploads: number; readonly rows: number } {
    const sql = 'SELECT count(*) AS batches, count(uploaded_ms) AS uploads, coalesce(sum(rows), 0) AS rows FROM batches';
    const row = this.#statement(sql).get();
    return { batches: Number(row?.batches), uploads: Number(row?.uploads), rows: Number(row?.rows) };
  }

  /** Has no effect on a batch that was uploaded before. */
  uploaded(id: string, uploadedMs: number, eventDueMs: number, fault: ReviewFault | null): void {
    const sql = 'UPDATE batches SET uploaded_ms = ?, event_due_ms = ?, fault = ? WHERE id = ? AND uploaded_ms IS NULL';
    this.#run(sql, uploadedMs, eventDueMs, fault && JSON.stringify(fault), id);
  }

  pending(id: string, finishDueMs: number | null): void {
    this.#run("UPDATE batches SET status = 'PENDING', finish_due_ms = ? WHERE id = ?", finishDueMs, id);
  }

  reviewed(id: string, { rows, errorRows, etag, problem }: Reviewed): void {
    const sql = 'UPDATE batches SET reviewed = 1, rows = ?, error_rows = ?, etag = ?, problem = ? WHERE id = ?';
    this.#run(sql, rows, errorRows, etag, problem, id);
  }

  finish(id: string, status: BatchStatus, finishedMs: number): void {
    this.#run('UPDATE batches SET status = ?, finished_ms = ? WHERE id = ?', status, finishedMs, id);
  }

  close(): void {
    this.#database.close();
  }

  #statement(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.#database.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }

  #run(sql: string, ...values: (string | number | null)[]): void {
    this.#statement(sql).run(...values);
  }
}

type Row = ReturnType<StatementSync['all']>[number];

function batchOf(row: Row): Batch {
  const number = (value: unknown) => (value === null ? null : Number(value));
  const text = (value: unknown) => (value === null ? null : String(value));
  return {
    id: String(row.id),
    type: String(row.type),
    status: row.status as BatchStatus,
    createdMs: Number(row.created_ms),
    uploadedMs: number(row.uploaded_ms),
    eventDueMs: number(row.event_due_ms),
    finishDueMs: number(row.finish_due_ms),
    fault: row.fault === null ? null : JSON.parse(String(row.fault)),
    reviewed: row.reviewed === 1,
    etag: text(row.etag),
    rows: Number(row.rows),
    errorRows: Number(row.error_rows),
    problem: text(row.problem),
    finishedMs: number(row.finished_ms),
  };
}

/** Where the decisions of a batch are (service-interface.md 2.1): all in one place, as the batch moves as a whole. */
export function countsOf({ status, rows, errorRows }: Batch): BatchCounts {
  const none = { batch_count: rows, success_count: 0, pending_count: 0, error_count: 0, cancelled_count: 0 };
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

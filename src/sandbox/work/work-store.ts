/** What batches and imports have in common on disk: a file is uploaded, read to its end, and something comes of it. */
import type { Database, Row } from '../database.ts';
import type { WorkFault } from '../faults/schema.ts';

export interface Work<Status extends string = string> {
  readonly id: string;
  readonly status: Status;
  readonly createdMs: number;
  /** When the upload was complete; null before. */
  readonly uploadedMs: number | null;
  /** When the service hears of the upload. */
  readonly eventDueMs: number | null;
  /** When the work may be finished; null before it has begun, and for work that is stuck for good. */
  readonly finishDueMs: number | null;
  /** When it came to its end; null before. */
  readonly finishedMs: number | null;
  /** The scripted fault that hits it. */
  readonly fault: WorkFault | null;
  /** True once the upload was read to its end, or to what is wrong with it. */
  readonly processed: boolean;
  /** Why it failed. */
  readonly problem: string | null;
}

/** Columns of every table of works. */
export const WORK_COLUMNS = `
  seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, status TEXT NOT NULL, created_ms REAL NOT NULL,
  uploaded_ms REAL, event_due_ms REAL, finish_due_ms REAL, finished_ms REAL, fault TEXT, problem TEXT`;

export const WAITING = 'WAITING_FOR_UPLOAD';

export abstract class WorkStore<Item extends Work> {
  /** Status between the storage event and the end. */
  abstract readonly busy: Item['status'];
  protected readonly database: Database;
  readonly #table: string;

  constructor(database: Database, table: string) {
    this.database = database;
    this.#table = table;
  }

  protected abstract itemOf(row: Row): Item;

  get(id: string): Item | undefined {
    const row = this.database.first(`SELECT * FROM ${this.#table} WHERE id = ?`, id);
    return row && this.itemOf(row);
  }

  /** The last one created of those that fit. */
  newest(fits: (item: Item) => boolean = () => true): Item | undefined {
    return this.all().findLast(fits);
  }

  /** In the order of creation. */
  all(): Item[] {
    return this.database
      .all(`SELECT * FROM ${this.#table} ORDER BY seq`)
      .map((row) => this.itemOf(row));
  }

  /** Those that are not at their end. */
  open(): Item[] {
    const sql = `SELECT * FROM ${this.#table} WHERE status IN (?, ?) ORDER BY seq`;
    return this.database.all(sql, WAITING, this.busy).map((row) => this.itemOf(row));
  }

  /** Has no effect on what was uploaded before. */
  uploaded(id: string, uploadedMs: number, eventDueMs: number, fault: WorkFault | null): void {
    const sql = `UPDATE ${this.#table} SET uploaded_ms = ?, event_due_ms = ?, fault = ? WHERE id = ? AND uploaded_ms IS NULL`;
    this.database.run(sql, uploadedMs, eventDueMs, fault && JSON.stringify(fault), id);
  }

  begin(id: string, finishDueMs: number | null): void {
    this.database.run(
      `UPDATE ${this.#table} SET status = ?, finish_due_ms = ? WHERE id = ?`,
      this.busy,
      finishDueMs,
      id,
    );
  }

  finish(id: string, status: Item['status'], finishedMs: number): void {
    this.database.run(
      `UPDATE ${this.#table} SET status = ?, finished_ms = ? WHERE id = ?`,
      status,
      finishedMs,
      id,
    );
  }
}

/** The common columns of a row; `processed` is the table's own. */
export function workOf(row: Row): Omit<Work, 'status' | 'processed'> {
  return {
    id: String(row.id),
    createdMs: Number(row.created_ms),
    uploadedMs: numberOrNull(row.uploaded_ms),
    eventDueMs: numberOrNull(row.event_due_ms),
    finishDueMs: numberOrNull(row.finish_due_ms),
    finishedMs: numberOrNull(row.finished_ms),
    fault: row.fault === null ? null : JSON.parse(String(row.fault)),
    problem: textOrNull(row.problem),
  };
}

export function numberOrNull(value: unknown): number | null {
  return value === null ? null : Number(value);
}

export function textOrNull(value: unknown): string | null {
  return value === null ? null : String(value);
}

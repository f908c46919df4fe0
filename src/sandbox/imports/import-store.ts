/** Imports on disk. */
import type { ImportStatus } from '../../service/contract.ts';
import type { Database, Row } from '../database.ts';
import { WAITING, WORK_COLUMNS, type Work, WorkStore, workOf } from '../work/work-store.ts';

export interface Import extends Work<ImportStatus> {
  /** Of the upload; 0 before they are read, and when the file is not valid. */
  readonly records: number;
}

export interface Ingested {
  readonly records: number;
  readonly problem: string | null;
}

const TABLE = `
  CREATE TABLE IF NOT EXISTS imports (${WORK_COLUMNS},
    processed INTEGER NOT NULL DEFAULT 0, records INTEGER NOT NULL DEFAULT 0
  ) STRICT;
`;

export class ImportStore extends WorkStore<Import> {
  readonly busy = 'IN_PROGRESS';

  constructor(database: Database) {
    super(database, 'imports');
    database.define(TABLE);
  }

  create(id: string, createdMs: number): void {
    this.database.run(
      'INSERT INTO imports (id, status, created_ms) VALUES (?, ?, ?)',
      id,
      WAITING,
      createdMs,
    );
  }

  totals(): { readonly imports: number; readonly uploads: number; readonly records: number } {
    const sql =
      'SELECT count(*) AS imports, count(uploaded_ms) AS uploads, coalesce(sum(records), 0) AS records FROM imports';
    const row = this.database.first(sql);
    return {
      imports: Number(row?.imports),
      uploads: Number(row?.uploads),
      records: Number(row?.records),
    };
  }

  ingested(id: string, { records, problem }: Ingested): void {
    this.database.run(
      'UPDATE imports SET processed = 1, records = ?, problem = ? WHERE id = ?',
      records,
      problem,
      id,
    );
  }

  protected override itemOf(row: Row): Import {
    return {
      ...workOf(row),
      status: row.status as ImportStatus,
      processed: row.processed === 1,
      records: Number(row.records),
    };
  }
}

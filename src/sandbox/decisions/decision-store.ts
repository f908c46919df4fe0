/** Decisions on disk (service-interface.md 2.6). Those of a batch have ids that follow from the batch and the row. */
import type { Label } from '../../service/contract.ts';
import type { Database, Row } from '../database.ts';
import { numberOrNull, textOrNull } from '../work/work-store.ts';

/** A decision as it will be once it is made. */
export interface Decision {
  readonly id: string;
  /** Content type, for faults that match one. */
  readonly type: string;
  readonly status: 'SUCCESS' | 'ERROR';
  readonly result: string | null;
  readonly labels: readonly Label[] | null;
  readonly metadata: Readonly<Record<string, unknown>>;
  /** When it is made; null for never. Decisions of a batch have their time from the batch. */
  readonly dueMs: number | null;
}

const TABLE = `
  CREATE TABLE IF NOT EXISTS decisions (
    id TEXT PRIMARY KEY, type TEXT NOT NULL, status TEXT NOT NULL, result TEXT, labels TEXT, metadata TEXT NOT NULL, due_ms REAL
  ) STRICT, WITHOUT ROWID;
`;

export class DecisionStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
    database.define(TABLE);
  }

  get(id: string): Decision | undefined {
    const row = this.#database.first('SELECT * FROM decisions WHERE id = ?', id);
    return row && decisionOf(row);
  }

  /** Takes the place of those with the same ids; all or nothing. */
  put(decisions: readonly Decision[]): void {
    const rows = decisions.map(({ id, type, status, result, labels, metadata, dueMs }) => {
      return [
        id,
        type,
        status,
        result,
        labels && JSON.stringify(labels),
        JSON.stringify(metadata),
        dueMs,
      ];
    });
    this.#database.runAll('INSERT OR REPLACE INTO decisions VALUES (?, ?, ?, ?, ?, ?, ?)', rows);
  }
}

function decisionOf(row: Row): Decision {
  return {
    id: String(row.id),
    type: String(row.type),
    status: row.status === 'SUCCESS' ? 'SUCCESS' : 'ERROR',
    result: textOrNull(row.result),
    labels: row.labels === null ? null : JSON.parse(String(row.labels)),
    metadata: JSON.parse(String(row.metadata)),
    dueMs: numberOrNull(row.due_ms),
  };
}

/**
 * JSON documents in the sandbox's SQLite file. Every change is one statement, so a process killed
 * at any time leaves the file consistent.
 */
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { parseJson } from '../../client/src/base/json/parse-json.ts';

const SETUP = `
  PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;
  CREATE TABLE IF NOT EXISTS documents (
    seq INTEGER PRIMARY KEY, kind TEXT NOT NULL, id TEXT NOT NULL, json TEXT NOT NULL,
    UNIQUE (kind, id)
  ) STRICT;
`;

export class Documents {
  readonly #database: DatabaseSync;
  readonly #get: StatementSync;
  readonly #all: StatementSync;
  readonly #put: StatementSync;

  /** @throws Error when another process has the file open. */
  constructor(path: string) {
    this.#database = new DatabaseSync(path);
    try {
      this.#database.exec(SETUP);
      this.#get = this.#database.prepare('SELECT json FROM documents WHERE kind = ? AND id = ?');
      this.#all = this.#database.prepare('SELECT json FROM documents WHERE kind = ? ORDER BY seq');
      this.#put = this.#database.prepare(
        `INSERT INTO documents (kind, id, json) VALUES (?, ?, ?)
         ON CONFLICT (kind, id) DO UPDATE SET json = excluded.json`,
      );
    } catch (cause) {
      this.#database.close();
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new Error(
        `${path} cannot be used (${reason}); stop the other sandbox, or use another data directory`,
        { cause },
      );
    }
  }

  /** The caller names the type that documents of this kind were written with. */
  get<Document>(kind: string, id: string): Document | undefined {
    const row = this.#get.get(kind, id);
    return row && (parseJson(String(row.json)) as Document);
  }

  /** All documents of a kind, in the order of their creation. */
  all<Document>(kind: string): Document[] {
    return this.#all.all(kind).map(({ json }) => parseJson(String(json)) as Document);
  }

  /** Adds a document, or replaces the one with the same kind and id. */
  put(kind: string, id: string, document: unknown): void {
    this.#put.run(kind, id, JSON.stringify(document));
  }

  close(): void {
    this.#database.close();
  }
}

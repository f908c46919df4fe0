/** The sandbox's SQLite file. Every change is one statement: a process killed at any time leaves the tables consistent. */
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';

export type Row = ReturnType<StatementSync['all']>[number];

const FORMAT = 1;
const SETTINGS =
  'CREATE TABLE IF NOT EXISTS settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT';

export class Database {
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();

  /** @throws when another process has the database open, or another version wrote it. */
  constructor(path: string) {
    this.#database = new DatabaseSync(path);
    try {
      this.#database.exec(
        'PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;',
      );
      this.define(SETTINGS);
      const format = Number(this.setting('format', () => String(FORMAT)));
      if (format !== FORMAT)
        throw new Error(`its format is ${format}, this version reads ${FORMAT}`);
    } catch (cause) {
      this.#database.close();
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new Error(
        `${path} cannot be used (${reason}); stop the other sandbox, or use another data directory`,
        { cause },
      );
    }
  }

  /** @param sql CREATE TABLE IF NOT EXISTS: versions that know more tables open the files of those that know fewer. */
  define(sql: string): void {
    this.#database.exec(sql);
  }

  /** A value kept for ever, made on first use. */
  setting(name: string, make: () => string): string {
    this.run('INSERT OR IGNORE INTO settings VALUES (?, ?)', name, make());
    return String(this.first('SELECT value FROM settings WHERE name = ?', name)?.value);
  }

  first(sql: string, ...values: SQLInputValue[]): Row | undefined {
    return this.#statement(sql).get(...values);
  }

  all(sql: string, ...values: SQLInputValue[]): Row[] {
    return this.#statement(sql).all(...values);
  }

  run(sql: string, ...values: SQLInputValue[]): void {
    this.#statement(sql).run(...values);
  }

  /** Runs one statement for many rows, all or nothing. Synchronous, so that no other statement falls into its transaction. */
  runAll(sql: string, rows: Iterable<readonly SQLInputValue[]>): void {
    this.#database.exec('BEGIN');
    try {
      for (const values of rows) this.run(sql, ...values);
      this.#database.exec('COMMIT');
    } catch (error) {
      this.#database.exec('ROLLBACK');
      throw error;
    }
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
}

/** Imports of the sandbox, from its routes for checkers. */
import { isDeepStrictEqual } from 'node:util';
import type { Sandbox } from '../../support/stack/sandbox.ts';
import type { ReadRecord } from '../../support/stack/topic-reader.ts';
import type { ImportedRecord } from '../load/events.ts';
import { NUMBER } from '../load/hostile-parts.ts';

export class Imported {
  /** Records by import id and number. */
  readonly #records = new Map<string, ReadonlyMap<number, ImportedRecord>>();

  /** Reads the files of the complete imports that receipts name. */
  static async read(sandbox: Sandbox, receipts: readonly ReadRecord[]): Promise<Imported> {
    const complete = new Set(
      (await sandbox.imports())
        .filter(({ import_status: status }) => status === 'COMPLETE')
        .map(({ import_id: id }) => id),
    );
    const named = receipts.map(
      ({ value }) => (JSON.parse(String(value)) as { readonly import_id: unknown }).import_id,
    );
    const found = new Imported();
    for (const id of new Set(named))
      if (typeof id === 'string' && complete.has(id))
        found.#take(id, await sandbox.importedLines(id));
    return found;
  }

  has(importId: string, record: ImportedRecord): boolean {
    return isDeepStrictEqual(this.#records.get(importId)?.get(numberOf(record)), record);
  }

  #take(id: string, lines: readonly string[]): void {
    const records = lines.map((line) => JSON.parse(line) as ImportedRecord);
    this.#records.set(id, new Map(records.map((record) => [numberOf(record), record])));
  }
}

const numberOf = ({ data }: ImportedRecord): number =>
  Number((data as Readonly<Record<string, unknown>>)[NUMBER]);

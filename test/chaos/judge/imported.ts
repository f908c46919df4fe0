/** Imports of the sandbox, as its checker routes show them. */
import { isDeepStrictEqual } from 'node:util';
import type { ImportSummary } from '../../../packages/sandbox/src/control-routes.ts';
import type { ReadRecord } from '../../support/stack/topic-reader.ts';
import type { ImportedRecord } from '../load/events.ts';
import { NUMBER } from '../load/hostile-parts.ts';

interface SandboxImports {
  readonly totals: { readonly imports: number; readonly uploads: number; readonly records: number };
  readonly imports: readonly ImportSummary[];
}

export class Imported {
  /** By import and number. */
  readonly #records = new Map<string, ReadonlyMap<number, ImportedRecord>>();

  /** Reads the files of the complete imports that receipts name. @param url of the sandbox */
  static async read(url: string, receipts: readonly ReadRecord[]): Promise<Imported> {
    const { imports } = (await (await ask(`${url}/sandbox/imports`)).json()) as SandboxImports;
    const complete = new Set(
      imports.filter((one) => one.import_status === 'COMPLETE').map((one) => one.import_id),
    );
    const named = receipts.map(
      ({ value }) => (JSON.parse(String(value)) as { readonly import_id: unknown }).import_id,
    );
    const found = new Imported();
    for (const id of new Set(named))
      if (typeof id === 'string' && complete.has(id)) await found.#take(url, id);
    return found;
  }

  has(importId: string, record: ImportedRecord): boolean {
    return isDeepStrictEqual(this.#records.get(importId)?.get(numberOf(record)), record);
  }

  async #take(url: string, id: string): Promise<void> {
    const text = await (await ask(`${url}/sandbox/imports/${id}/content`)).text();
    const lines = text.trimEnd().split('\n');
    const records = lines.map((line) => JSON.parse(line) as ImportedRecord);
    this.#records.set(id, new Map(records.map((record) => [numberOf(record), record])));
  }
}

const numberOf = ({ data }: ImportedRecord): number =>
  Number((data as Readonly<Record<string, unknown>>)[NUMBER]);

async function ask(url: string): Promise<Response> {
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`the sandbox answered ${answer.status}`);
  return answer;
}

/** What is done with the uploads of imports: every record is read and checked. */
import type { Policy } from '../policy/schema.ts';
import type { ObjectStore } from '../storage/object-store.ts';
import { IMPORTS } from '../storage/paths.ts';
import type { Workshop } from '../work/lifecycle.ts';
import type { Import, ImportStore, Ingested } from './import-store.ts';
import { InvalidImport, readRecords } from './read-records.ts';

export interface IngestParts {
  readonly store: ImportStore;
  readonly uploads: ObjectStore;
  readonly policy: Policy;
  readonly onError: (error: unknown) => void;
}

export function ingestWork(parts: IngestParts): Workshop<Import> {
  const { store, uploads, policy } = parts;
  return {
    store,
    operation: 'ingest',
    workTimeMs: policy.timing.importTimeMs,
    contentType: () => undefined,
    hasUpload: (id) => uploads.has(IMPORTS.fileName(id)),
    async process({ id }, signal) {
      const ingested = await read(id, signal, parts);
      signal.throwIfAborted();
      store.ingested(id, ingested);
    },
    outcome: ({ problem, fault }) =>
      problem !== null || fault?.action === 'import_failed' ? 'FAILED' : 'COMPLETE',
  };
}

async function read(
  id: string,
  signal: AbortSignal,
  { uploads, policy, onError }: IngestParts,
): Promise<Ingested> {
  try {
    return {
      records: await readRecords(uploads.read(IMPORTS.fileName(id)), policy.imports, signal),
      problem: null,
    };
  } catch (error) {
    if (signal.aborted) throw error;
    if (error instanceof InvalidImport) return { records: 0, problem: error.message };
    onError(error);
    return { records: 0, problem: 'the sandbox failed to read this import' };
  }
}

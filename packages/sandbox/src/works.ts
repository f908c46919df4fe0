/**
 * Batches and imports, called works, and their states. `at work` stands for PENDING or IN_PROGRESS:
 *
 *   WAITING_FOR_UPLOAD ──(storage event)──► at work ──(file read, time over)──► a final state
 */
import { randomUUID } from 'node:crypto';
import { stringify } from 'csv-stringify/sync';
import type { Clock } from '../../client/src/base/clock.ts';
import { CONTENT_TYPES } from '../../client/src/service/contract.ts';
import type { Faults, WorkFault } from './faults.ts';
import type { SandboxPolicy } from './policy.ts';
import { InvalidUpload, recordsIn, reviewOf } from './uploaded-files.ts';

export const WAITING = 'WAITING_FOR_UPLOAD';

export const WORK_KINDS = {
  batch: {
    busy: 'PENDING',
    done: 'SUCCESS',
    failed: 'ERROR',
    work: 'review',
    upload: 'upload',
    contentType: CONTENT_TYPES.csv,
    timing: 'reviewTime',
  },
  import: {
    busy: 'IN_PROGRESS',
    done: 'COMPLETE',
    failed: 'FAILED',
    work: 'ingest',
    upload: 'upload_import',
    contentType: CONTENT_TYPES.jsonl,
    timing: 'importTime',
  },
} as const;

export type WorkKind = keyof typeof WORK_KINDS;

interface Files {
  /** Uploaded file. A batch keeps it only until it is read. */
  upload?: Buffer | undefined;
  /** Result file of a batch. */
  results?: Buffer | undefined;
}

/** State of a batch or import. */
export interface Work extends Files {
  readonly id: string;
  readonly kind: WorkKind;
  /** Content type of a batch; undefined for an import. */
  readonly type: string | undefined;
  /** Header of the call that created the work. */
  readonly traceparent: string | undefined;
  readonly createdMs: number;
  status: string;
  /** Time at which the upload was complete. */
  uploadedMs?: number;
  finishedMs?: number;
  fault?: WorkFault | undefined;
  /** Reason of its failure. */
  problem?: string;
  /** Number of rows or records in the upload; 0 before it is read, or if it is invalid. */
  rows: number;
  /** Number of rows with status ERROR. */
  errorRows: number;
}

export interface WorksParts {
  readonly policy: SandboxPolicy;
  readonly faults: Faults;
  /** Replaceable by tests. */
  readonly clock: Pick<Clock, 'now' | 'after'>;
  /** Receives failures of the sandbox itself. */
  readonly onError: (error: unknown) => void;
}

/** Maximum size of all files in memory. Above it, the oldest works lose their files. */
const MAX_BYTES = 512 * 2 ** 20;

export class Works {
  readonly #parts: WorksParts;
  readonly #works = { batch: new Map<string, Work>(), import: new Map<string, Work>() };
  /** Works with files, the oldest first. */
  readonly #stored = new Set<Work>();
  #bytes = 0;

  constructor(parts: WorksParts) {
    this.#parts = parts;
  }

  create(kind: WorkKind, type?: string, traceparent?: string): Work {
    const createdMs = this.#parts.clock.now();
    const id = randomUUID();
    const status = WAITING;
    const work: Work = { id, kind, type, traceparent, createdMs, status, rows: 0, errorRows: 0 };
    this.#works[kind].set(id, work);
    return work;
  }

  get(kind: WorkKind, id: string): Work | undefined {
    return this.#works[kind].get(id);
  }

  /** Returns all works of a kind, in the order of their creation. */
  all(kind: WorkKind): Work[] {
    return [...this.#works[kind].values()];
  }

  /** Stores an upload. Uploads may replace each other until the storage event; later ones are ignored. */
  uploaded(work: Work, body: Buffer): void {
    if (work.status !== WAITING) return;
    this.#store(work, { upload: body });
    if (work.uploadedMs !== undefined) return;
    const { clock, faults, policy } = this.#parts;
    work.uploadedMs = clock.now();
    work.fault = faults.ofWork(WORK_KINDS[work.kind].work, work.type);
    this.#after(policy.timing.storageEventDelay, () => this.#begin(work));
  }

  #begin(work: Work): void {
    const { busy, timing } = WORK_KINDS[work.kind];
    work.status = busy;
    try {
      this.#read(work);
    } catch (error) {
      const isInvalid = error instanceof InvalidUpload;
      if (!isInvalid) this.#parts.onError(error);
      work.problem = isInvalid ? error.message : `the sandbox failed to read this ${work.kind}`;
    }
    const longerMs = work.fault?.longerMs ?? 0;
    if (longerMs === Infinity) return;
    this.#after(this.#parts.policy.timing[timing] + longerMs, () => this.#finish(work));
  }

  /** @throws InvalidUpload */
  #read(work: Work): void {
    const { policy } = this.#parts;
    const { kind, type = '', upload = Buffer.alloc(0), fault } = work;
    if (kind === 'import') {
      work.rows = recordsIn(upload, policy.imports);
      return;
    }
    const { rows, errorRows } = reviewOf(upload, type, policy);
    const { rewrite = csvOf } = fault ?? {};
    this.#store(work, { results: Buffer.from(rewrite(rows)) });
    work.rows = rows.length - 1;
    work.errorRows = errorRows;
  }

  #finish(work: Work): void {
    const { done, failed } = WORK_KINDS[work.kind];
    work.status = work.problem === undefined ? (work.fault?.ends ?? done) : failed;
    work.finishedMs = this.#parts.clock.now();
  }

  #after(ms: number, step: () => void): void {
    if (ms <= 0) step();
    else this.#parts.clock.after(ms, step);
  }

  /** Replaces the files of a work. Above the limit, the oldest works lose theirs. */
  #store(work: Work, { upload, results }: Files): void {
    this.#bytes += bytesOf({ upload, results }) - bytesOf(work);
    work.upload = upload;
    work.results = results;
    this.#stored.add(work);
    for (const oldest of this.#stored) {
      if (this.#bytes <= MAX_BYTES || oldest === work) return;
      this.#stored.delete(oldest);
      this.#bytes -= bytesOf(oldest);
      oldest.upload = undefined;
      oldest.results = undefined;
    }
  }
}

const csvOf = (rows: readonly (readonly string[])[]): string =>
  stringify(rows.map((row) => [...row]));

const bytesOf = ({ upload, results }: Files): number =>
  (upload?.length ?? 0) + (results?.length ?? 0);

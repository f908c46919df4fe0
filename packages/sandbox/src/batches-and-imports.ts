/**
 * Batches and imports on their way. Each step is written down before the next, so that a killed
 * process resumes here (the second state is PENDING or IN_PROGRESS):
 *
 *   WAITING_FOR_UPLOAD ──(storage event)──► at work ──(file read, time over)──► a final state
 */

import { randomUUID } from 'node:crypto';
import type { Clock } from '../../client/src/base/clock.ts';
import { isObject } from '../../client/src/base/json/json-values.ts';
import { parseJson } from '../../client/src/base/json/parse-json.ts';
import { CONTENT_TYPES } from '../../client/src/service/contract.ts';
import { InvalidUpload } from './csv-rows.ts';
import type { Documents } from './documents.ts';
import type { Fault, FaultSource } from './faults.ts';
import type { ObjectStore } from './object-store.ts';
import { type SandboxPolicy, textTest } from './policy.ts';
import { resultFile } from './result-file.ts';

// Reads an uploaded JSONL file and checks every line. Memory is bounded by the longest line, and
// the event loop stays free between chunks. Problems name the line and never quote it.

const NEWLINE = 0x0a;

/** Returns the number of records. @throws InvalidUpload; the signal's reason when it aborts. */
export async function readRecords(
  upload: AsyncIterable<Buffer>,
  { types, fail }: SandboxPolicy['imports'],
  signal: AbortSignal,
): Promise<number> {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  const rules = fail.map((when) => ({ types: when.type, fits: textTest(when) }));
  let records = 0;
  const check = (line: Buffer) => {
    records += 1;
    const text = attempt(() => decoder.decode(line), `line ${records} is not UTF-8`);
    const type = typeIn(text, records);
    if (types?.includes(type) === false) {
      const known = types.join(', ');
      const reason = `records of this type are not imported here; known are ${known}`;
      throw new InvalidUpload(`line ${records}: ${reason}`);
    }
    if (rules.some((rule) => (rule.types?.includes(type) ?? true) && rule.fits(text))) {
      const reason = 'a rule of the policy fails every import with a record like this';
      throw new InvalidUpload(`line ${records}: ${reason}`);
    }
  };

  let begun: Buffer[] = [];
  for await (const chunk of upload) {
    signal.throwIfAborted();
    let from = 0;
    for (let to = chunk.indexOf(NEWLINE); to >= 0; to = chunk.indexOf(NEWLINE, from)) {
      check(Buffer.concat([...begun, chunk.subarray(from, to)]));
      begun = [];
      from = to + 1;
    }
    if (from < chunk.length) begun.push(chunk.subarray(from));
  }
  if (begun.length > 0) check(Buffer.concat(begun));
  if (records === 0) throw new InvalidUpload('the upload is empty: it needs at least one record');
  return records;
}

function typeIn(text: string, line: number): string {
  const json: unknown = attempt(() => parseJson(text), `line ${line} is not JSON`);
  if (!isObject(json) || typeof json.type !== 'string' || !isObject(json.data)) {
    const shape = 'an object with the text type and the object data';
    throw new InvalidUpload(`line ${line} is not ${shape}`);
  }
  if (Object.keys(json).length > 2) {
    throw new InvalidUpload(`line ${line} has fields other than type and data`);
  }
  return json.type;
}

function attempt<Value>(read: () => Value, problem: string): Value {
  try {
    return read();
  } catch {
    throw new InvalidUpload(problem);
  }
}

/** Time of the sandbox: a test may own it, and a restart compares it with what is on disk. */
export type SandboxClock = Pick<Clock, 'now' | 'after'>;

export const WAITING = 'WAITING_FOR_UPLOAD';

export const WORK_KINDS = {
  batch: {
    busy: 'PENDING',
    done: 'SUCCESS',
    failed: 'ERROR',
    /** Operations that faults hit. */
    work: 'review',
    upload: 'upload',
    contentType: CONTENT_TYPES.csv,
    objectName: (id: string) => `uploads/${id}.csv`,
    timing: 'reviewTime',
  },
  import: {
    busy: 'IN_PROGRESS',
    done: 'COMPLETE',
    failed: 'FAILED',
    work: 'ingest',
    upload: 'upload_import',
    contentType: CONTENT_TYPES.jsonl,
    objectName: (id: string) => `imports/${id}.jsonl`,
    timing: 'importTime',
  },
} as const;

export type WorkKind = keyof typeof WORK_KINDS;

export const STORAGE_FOLDERS = ['uploads', 'imports', 'results'];

export function resultName(batchId: string): string {
  return `results/${batchId}.csv`;
}

interface WorkOutcome {
  /** Rows or records of the upload; 0 when it is not valid. */
  readonly rows: number;
  /** Rows judged with status ERROR. */
  readonly errorRows: number;
  /** Reason of its failure. */
  readonly problem: string | null;
}

export interface Work {
  readonly id: string;
  readonly kind: WorkKind;
  /** Content type of a batch; undefined for an import. */
  readonly type?: string | undefined;
  /** Header of the call that created it. */
  readonly traceparent?: string | undefined;
  readonly status: string;
  readonly createdMs: number;
  /** Time at which the upload was complete; null before, like the other times. */
  readonly uploadedMs: number | null;
  /** Time at which the service learns of the upload. */
  readonly eventDueMs: number | null;
  /** Earliest time of the end; null also for work that is stuck permanently. */
  readonly finishDueMs: number | null;
  readonly finishedMs: number | null;
  /** Fault that hits it; stored, so that it outlives a restart. */
  readonly fault: Fault | null;
  /** Result of reading the upload; null before. */
  readonly outcome: WorkOutcome | null;
}

export interface WorksParts {
  readonly documents: Documents;
  readonly objects: ObjectStore;
  readonly policy: SandboxPolicy;
  readonly faults: FaultSource;
  readonly clock: SandboxClock;
  /** Receives failures of the sandbox itself: a disk that is full, a defect. */
  readonly onError: (error: unknown) => void;
}

export class Works {
  readonly #parts: WorksParts;
  readonly #stopping = new AbortController();
  /** Files are read one after the other: they would only share the one thread. */
  #processing: Promise<void> = Promise.resolve();

  constructor(parts: WorksParts) {
    this.#parts = parts;
  }

  create(kind: WorkKind, type?: string, traceparent?: string): Work {
    const work: Work = {
      id: randomUUID(),
      kind,
      type,
      traceparent,
      status: WAITING,
      createdMs: this.#parts.clock.now(),
      ...{ uploadedMs: null, eventDueMs: null, finishDueMs: null, finishedMs: null },
      ...{ fault: null, outcome: null },
    };
    this.#change(work, {});
    return work;
  }

  get(kind: WorkKind, id: string): Work | undefined {
    return this.#parts.documents.get(kind, id);
  }

  /** All of a kind, in the order of their creation. */
  all(kind: WorkKind): Work[] {
    return this.#parts.documents.all(kind);
  }

  /** Resumes everything where the last process left it. */
  resume(): void {
    for (const work of [...this.all('batch'), ...this.all('import')]) {
      const { objectName } = WORK_KINDS[work.kind];
      const isUnrecorded =
        work.uploadedMs === null && this.#parts.objects.size(objectName(work.id)) !== undefined;
      if (isUnrecorded) this.uploaded(work, 0);
      else this.#advance(work);
    }
  }

  /** Records an upload, of which the service learns `lateByMs` later than the policy says. */
  uploaded({ kind, id }: Pick<Work, 'kind' | 'id'>, lateByMs: number): void {
    const work = this.get(kind, id);
    if (work === undefined || work.uploadedMs !== null) return;
    const { faults, clock, policy } = this.#parts;
    const fault = faults.take(WORK_KINDS[kind].work, work.type) ?? null;
    const uploadedMs = clock.now();
    const eventDueMs = uploadedMs + policy.timing.storageEventDelay + lateByMs;
    this.#change(work, { uploadedMs, eventDueMs, fault });
  }

  /** Resolves when nothing runs any more. Repeatable. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#processing;
  }

  #change(work: Work, change: Partial<Work>): void {
    const changed = { ...work, ...change };
    this.#parts.documents.put(work.kind, work.id, changed);
    this.#advance(changed);
  }

  #advance(work: Work): void {
    if (this.#stopping.signal.aborted) return;
    if (work.status === WAITING) this.#at(work.eventDueMs, () => this.#begin(work));
    else if (work.status !== WORK_KINDS[work.kind].busy) return;
    else if (work.outcome !== null) this.#at(work.finishDueMs, () => this.#finish(work));
    else this.#processing = this.#processing.then(() => this.#process(work));
  }

  #begin(work: Work): void {
    const { busy, timing } = WORK_KINDS[work.kind];
    const { clock, policy } = this.#parts;
    const { fault } = work;
    const stuckMs = fault?.action === 'stuck' ? fault.for : 0;
    const finishDueMs =
      stuckMs === undefined ? null : clock.now() + policy.timing[timing] + stuckMs;
    this.#change(work, { status: busy, finishDueMs });
  }

  async #process(work: Work): Promise<void> {
    const { signal } = this.#stopping;
    if (signal.aborted) return;
    try {
      this.#change(work, { outcome: await this.#read(work, signal) });
    } catch (error) {
      if (!signal.aborted) this.#parts.onError(error);
    }
  }

  async #read({ kind, id, type, fault }: Work, signal: AbortSignal): Promise<WorkOutcome> {
    const { objects, policy, onError } = this.#parts;
    const upload = objects.read(WORK_KINDS[kind].objectName(id));
    const counts = { rows: 0, errorRows: 0 };
    try {
      if (kind === 'import') counts.rows = await readRecords(upload, policy.imports, signal);
      else {
        const text = resultFile(upload, { type, policy, fault }, counts, signal);
        await objects.write(resultName(id), text);
      }
      return { ...counts, problem: null };
    } catch (error) {
      if (signal.aborted) throw error;
      const isInvalid = error instanceof InvalidUpload;
      if (!isInvalid) onError(error);
      const problem = isInvalid ? error.message : `the sandbox failed to read this ${kind}`;
      return { rows: 0, errorRows: 0, problem };
    }
  }

  #finish(work: Work): void {
    const { done, failed } = WORK_KINDS[work.kind];
    const { fault, outcome } = work;
    const isFailed = /^(batch_error|import_failed)$/.test(fault?.action ?? '');
    let status: string = fault?.action === 'batch_cancelled' ? 'CANCELLED' : done;
    if (isFailed || outcome?.problem !== null) status = failed;
    this.#change(work, { status, finishedMs: this.#parts.clock.now() });
  }

  /** Runs `step` once the clock has reached `dueMs`; never when that is null. */
  #at(dueMs: number | null, step: () => void): void {
    if (dueMs === null || this.#stopping.signal.aborted) return;
    const { clock } = this.#parts;
    const waitMs = dueMs - clock.now();
    if (waitMs <= 0) step();
    else clock.after(waitMs, () => this.#at(dueMs, step));
  }
}

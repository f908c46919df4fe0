/**
 * The way of a batch after its upload. Each step is written down before the next, so that a killed process resumes here:
 *
 *   WAITING_FOR_UPLOAD ──(storage event)──► PENDING ──(every row judged, review time over)──► SUCCESS | ERROR | CANCELLED
 */
import type { SandboxClock } from '../clock.ts';
import type { FaultScript } from '../faults/script.ts';
import type { Policy } from '../policy/schema.ts';
import { etagOf, type ObjectStore } from '../storage/object-store.ts';
import { fileName } from '../storage/paths.ts';
import type { Batch, BatchStore, Reviewed } from './batch-store.ts';
import { InvalidUpload, reviewFile } from './review-file.ts';

export interface LifecycleParts {
  readonly store: BatchStore;
  readonly uploads: ObjectStore;
  readonly results: ObjectStore;
  readonly policy: Policy;
  readonly faults: FaultScript;
  readonly clock: SandboxClock;
  /** Told of failures of the sandbox itself: a disk that is full, a defect. */
  readonly onError: (error: unknown) => void;
}

export class Lifecycle {
  readonly #parts: LifecycleParts;
  readonly #stopping = new AbortController();
  readonly #timers = new Set<() => void>();
  /** Reviews run one after the other: they would only share the one thread. */
  #reviews: Promise<void> = Promise.resolve();

  constructor(parts: LifecycleParts) {
    this.#parts = parts;
  }

  /** Takes up every batch where the last process left it. */
  resume(): void {
    for (const batch of this.#parts.store.open()) {
      const storedButUntold = batch.uploadedMs === null && this.#parts.uploads.has(fileName(batch.id));
      if (storedButUntold) this.uploaded(batch, 0);
      else this.#advance(batch.id);
    }
  }

  /** The upload of this batch is in the storage, and the service hears of it `lateByMs` later than the policy says. */
  uploaded({ id, type, uploadedMs }: Batch, lateByMs: number): void {
    if (uploadedMs !== null) return;
    const { store, faults, policy, clock } = this.#parts;
    const fault = faults.take('review', type);
    const now = clock.now();
    const eventDueMs = now + policy.timing.storageEventDelayMs + lateByMs;
    store.uploaded(id, now, eventDueMs, fault?.operation === 'review' ? fault : null);
    this.#advance(id);
  }

  /** Resolves when nothing runs any more. Repeatable. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    for (const cancel of this.#timers) cancel();
    this.#timers.clear();
    await this.#reviews;
  }

  #advance(id: string): void {
    const batch = this.#parts.store.get(id);
    if (batch === undefined || this.#stopping.signal.aborted) return;
    if (batch.status === 'WAITING_FOR_UPLOAD') this.#at(batch.eventDueMs, () => this.#begin(batch));
    else if (batch.status === 'PENDING' && batch.reviewed) this.#at(batch.finishDueMs, () => this.#finish(batch));
    else if (batch.status === 'PENDING') this.#reviews = this.#reviews.then(() => this.#review(batch));
  }

  #begin({ id, fault }: Batch): void {
    const stuckMs = fault?.action === 'stuck' ? (fault.for ?? Number.POSITIVE_INFINITY) : 0;
    const finishDueMs = this.#parts.clock.now() + this.#parts.policy.timing.reviewTimeMs + stuckMs;
    this.#parts.store.pending(id, Number.isFinite(finishDueMs) ? finishDueMs : null);
    this.#advance(id);
  }

  async #review(batch: Batch): Promise<void> {
    if (this.#stopping.signal.aborted) return;
    try {
      const reviewed = await this.#judged(batch);
      if (this.#stopping.signal.aborted) return;
      this.#parts.store.reviewed(batch.id, reviewed);
      this.#advance(batch.id);
    } catch (error) {
      if (!this.#stopping.signal.aborted) this.#parts.onError(error);
    }
  }

  async #judged({ id, type, fault }: Batch): Promise<Reviewed> {
    const { uploads, results, policy } = this.#parts;
    const draft = await results.draft(fileName(id));
    try {
      const request = { type, policy, fault: fault?.action === 'rows' ? fault : undefined };
      const counts = await reviewFile(uploads.read(fileName(id)), draft, request, this.#stopping.signal);
      const etag = etagOf(draft.md5());
      await draft.keep();
      return { rows: counts.rows, errorRows: counts.errorRows, etag, problem: null };
    } catch (error) {
      await draft.discard();
      if (this.#stopping.signal.aborted) throw error;
      if (!(error instanceof InvalidUpload)) this.#parts.onError(error);
      const problem = error instanceof InvalidUpload ? error.message : 'the sandbox failed to review this batch';
      return { rows: 0, errorRows: 0, etag: null, problem };
    }
  }

  #finish({ id, problem, fault }: Batch): void {
    const { store, clock } = this.#parts;
    const nowMs = clock.now();
    if (problem !== null || fault?.action === 'batch_error') store.finish(id, 'ERROR', nowMs);
    else if (fault?.action === 'batch_cancelled') store.finish(id, 'CANCELLED', nowMs);
    else store.finish(id, 'SUCCESS', nowMs);
  }

  /** Runs `step` once the clock has reached `dueMs`; never when that is null. */
  #at(dueMs: number | null, step: () => void): void {
    if (dueMs === null) return;
    const waitMs = dueMs - this.#parts.clock.now();
    if (waitMs <= 0) {
      step();
      return;
    }
    const cancel = this.#parts.clock.after(waitMs, () => {
      this.#timers.delete(cancel);
      this.#at(dueMs, step);
    });
    this.#timers.add(cancel);
  }
}

/**
 * The way of a batch or an import after its upload. Each step is written down before the next, so that a killed process
 * resumes here (the second state is PENDING or IN_PROGRESS):
 *
 *   WAITING_FOR_UPLOAD ──(storage event)──► at work ──(file read to its end, time over)──► one of the final states
 */
import type { SandboxClock } from '../clock.ts';
import { isWorkFault } from '../faults/schema.ts';
import type { FaultScript } from '../faults/script.ts';
import { WAITING, type Work, type WorkStore } from './work-store.ts';

/** What is done with the uploads of one kind. */
export interface Workshop<Item extends Work> {
  readonly store: WorkStore<Item>;
  /** Where faults of this work stand in the script. */
  readonly operation: 'review' | 'ingest';
  /** Of the batch; undefined for what has none. */
  contentType(item: Item): string | undefined;
  /** From the storage event to the end, at least. */
  readonly workTimeMs: number;
  hasUpload(id: string): boolean;
  /** Reads the upload and writes down that it is processed. @throws the signal's reason when it aborts. */
  process(item: Item, signal: AbortSignal): Promise<void>;
  /** The final state of a processed item. */
  outcome(item: Item): Item['status'];
}

export interface LifecycleParts {
  readonly faults: FaultScript;
  readonly storageEventDelayMs: number;
  readonly clock: SandboxClock;
  /** Told of failures of the sandbox itself: a disk that is full, a defect. */
  readonly onError: (error: unknown) => void;
}

export class Lifecycle<Item extends Work> {
  readonly #shop: Workshop<Item>;
  readonly #parts: LifecycleParts;
  readonly #stopping = new AbortController();
  readonly #timers = new Set<() => void>();
  /** Files are read one after the other: they would only share the one thread. */
  #processing: Promise<void> = Promise.resolve();

  constructor(shop: Workshop<Item>, parts: LifecycleParts) {
    this.#shop = shop;
    this.#parts = parts;
  }

  /** Takes up everything where the last process left it. */
  resume(): void {
    for (const item of this.#shop.store.open()) {
      const storedButUntold = item.uploadedMs === null && this.#shop.hasUpload(item.id);
      if (storedButUntold) this.uploaded(item.id, 0);
      else this.#advance(item.id);
    }
  }

  /** The upload is in the storage, and the service hears of it `lateByMs` later than the policy says. */
  uploaded(id: string, lateByMs: number): void {
    const item = this.#shop.store.get(id);
    if (item === undefined || item.uploadedMs !== null) return;
    const fault = this.#parts.faults.take(this.#shop.operation, this.#shop.contentType(item));
    const now = this.#parts.clock.now();
    const eventDueMs = now + this.#parts.storageEventDelayMs + lateByMs;
    this.#shop.store.uploaded(id, now, eventDueMs, isWorkFault(fault) ? fault : null);
    this.#advance(id);
  }

  /** Resolves when nothing runs any more. Repeatable. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    for (const cancel of this.#timers) cancel();
    this.#timers.clear();
    await this.#processing;
  }

  #advance(id: string): void {
    const item = this.#shop.store.get(id);
    if (item === undefined || this.#stopping.signal.aborted) return;
    if (item.status === WAITING) this.#at(item.eventDueMs, () => this.#begin(item));
    else if (item.status !== this.#shop.store.busy) return;
    else if (item.processed) this.#at(item.finishDueMs, () => this.#finish(item));
    else this.#processing = this.#processing.then(() => this.#process(item));
  }

  #begin({ id, fault }: Item): void {
    const stuckMs = fault?.action === 'stuck' ? (fault.for ?? Number.POSITIVE_INFINITY) : 0;
    const finishDueMs = this.#parts.clock.now() + this.#shop.workTimeMs + stuckMs;
    this.#shop.store.begin(id, Number.isFinite(finishDueMs) ? finishDueMs : null);
    this.#advance(id);
  }

  async #process(item: Item): Promise<void> {
    const { signal } = this.#stopping;
    if (signal.aborted) return;
    try {
      await this.#shop.process(item, signal);
      this.#advance(item.id);
    } catch (error) {
      if (!signal.aborted) this.#parts.onError(error);
    }
  }

  #finish(item: Item): void {
    this.#shop.store.finish(item.id, this.#shop.outcome(item), this.#parts.clock.now());
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

/**
 * `output.order: source`: a batch publishes only when every batch of its partitions that was submitted before it has
 * published all its records, those it had to submit again included. The order is that of the journal, so that a restart
 * keeps it. Nobody waits for a batch that is not in the journal yet: batches of one type are journaled in the order in which
 * they were sealed, and of two types neither is earlier before it was submitted.
 *
 * The earliest live line waits for nobody, so somebody can always go on.
 */

import { abortable } from '../../base/abortable.ts';
import type { LiveJob } from '../../core/journal/job.ts';
import type { ShardState } from '../../core/journal/shard-state.ts';
import type { WaitReasons } from '../limits/wait-reasons.ts';

/** Of a sealed batch, behind those of its type. */
export interface Place {
  /** Resolves when it may be submitted. */
  readonly turn: () => Promise<void>;
  /** It is in the journal, or given up. */
  readonly leave: () => void;
}

export class OutputOrder {
  readonly #enabled: boolean;
  readonly #state: ShardState;
  readonly #waits: WaitReasons;
  readonly #shard: number;
  readonly #signal: AbortSignal;
  readonly #waiting = new Set<() => void>();
  /** Per type: settles when the batch sealed last is in the journal, or will never be. */
  readonly #sealed = new Map<string, Promise<void>>();

  constructor(options: {
    readonly order: 'completion' | 'source';
    readonly state: ShardState;
    readonly waits: WaitReasons;
    readonly shard: number;
    readonly signal: AbortSignal;
  }) {
    this.#enabled = options.order === 'source';
    this.#state = options.state;
    this.#waits = options.waits;
    this.#shard = options.shard;
    this.#signal = options.signal;
    options.signal.addEventListener('abort', () => this.moved(), { once: true });
  }

  mayPublish(job: LiveJob): boolean {
    return !this.#enabled || !this.#state.isBehind(job);
  }

  /**
   * Resolves when the job may publish. It must hold nothing that an earlier job could need: no permit, no memory.
   * @returns whether it had to wait: then what was known of the job may be old. @throws the reason of the shard's end
   */
  async turn(job: LiveJob): Promise<boolean> {
    if (this.mayPublish(job)) return false;
    const done = this.#waits.begin('order', `shard ${this.#shard}`);
    try {
      while (!this.mayPublish(job)) {
        // Before the wait: nobody would end one that begins after the shard's end.
        this.#signal.throwIfAborted();
        await new Promise<void>((resolve) => this.#waiting.add(resolve));
      }
      this.#signal.throwIfAborted();
    } finally {
      done();
    }
    return true;
  }

  /** A job has nothing left of a partition: who waits may look again. */
  moved(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const look of waiting) look();
  }

  /** Puts a sealed batch in line behind those of its type; to be called in the order of sealing. */
  enter(type: string): Place {
    if (!this.#enabled) return { turn: () => Promise.resolve(), leave: () => undefined };
    const before = this.#sealed.get(type) ?? Promise.resolve();
    const journaled = Promise.withResolvers<void>();
    this.#sealed.set(type, journaled.promise);
    return { turn: () => abortable(before, this.#signal), leave: journaled.resolve };
  }
}

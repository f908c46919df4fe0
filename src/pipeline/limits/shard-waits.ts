/** Waits of one shard, each with its reason (I8). */
import type { Clock } from '../../base/clock.ts';
import { LONG_MS, type WaitReason, type WaitReasons } from './wait-reasons.ts';

/** Limits on what a pipeline does at once. */
export type LimitName = 'encodes' | 'uploads' | 'polls' | 'downloads' | 'claims';
type Limits = Readonly<Record<LimitName, <T>(run: () => Promise<T>) => Promise<T>>>;

interface ShardWaitsDeps {
  readonly waits: WaitReasons;
  readonly clock: Clock;
  readonly limits: Limits;
}

export class ShardWaits {
  readonly #deps: ShardWaitsDeps;
  readonly #who: string;
  readonly #signal: AbortSignal;
  #overdue = 0;

  constructor(deps: ShardWaitsDeps, shard: number, signal: AbortSignal) {
    this.#deps = deps;
    this.#who = `shard ${shard}`;
    this.#signal = signal;
  }

  /** True while work is overdue. */
  get isOverdue(): boolean {
    return this.#overdue > 0;
  }

  /** @param who default: the shard. @returns what ends the wait */
  begin(reason: WaitReason, who = this.#who): () => void {
    return this.#deps.waits.begin(reason, who);
  }

  /** Settles as `work` does; the shard, or a part of it, waits until then. */
  while<T>(reason: WaitReason, work: Promise<T>, part?: string): Promise<T> {
    return work.finally(this.begin(reason, this.#partOf(part)));
  }

  /**
   * Settles as `work` does; if that takes long, the shard waits.
   * @param atMostMs for work that depends on nothing outside: it is overdue after that
   */
  during<T>(reason: WaitReason, work: Promise<T>, atMostMs?: number): Promise<T> {
    return this.#during(reason, this.#who, work, atMostMs);
  }

  /** Yields what `source` yields; while the next item takes long, the shard waits. */
  async *each<T>(reason: WaitReason, source: AsyncIterable<T>): AsyncGenerator<T, void, void> {
    const iterator = source[Symbol.asyncIterator]();
    let ended = false;
    try {
      for (;;) {
        const next = await this.during(reason, iterator.next());
        ended = next.done === true;
        if (next.done === true) return;
        yield next.value;
      }
    } finally {
      if (!ended) await iterator.return?.();
    }
  }

  /**
   * Runs `run` within a limit of the pipeline; if its turn comes late, a part of the shard waits.
   * @throws the signal's reason if that was aborted meanwhile
   */
  async permitted<T>(limit: LimitName, run: () => Promise<T>): Promise<T> {
    const signal = this.#signal;
    const started = Promise.withResolvers<void>();
    const start = () => started.resolve();
    signal.addEventListener('abort', start, { once: true });
    const reason = limit === 'claims' ? 'kafka' : 'transfer';
    void this.#during(reason, this.#partOf(limit), started.promise);
    try {
      return await this.#deps.limits[limit](() => {
        start();
        signal.throwIfAborted();
        return run();
      });
    } finally {
      signal.removeEventListener('abort', start);
    }
  }

  async #during<T>(
    reason: WaitReason,
    who: string,
    work: Promise<T>,
    atMostMs = Infinity,
  ): Promise<T> {
    const { clock, waits } = this.#deps;
    let end: (() => void) | undefined;
    const cancelLong = clock.after(LONG_MS, () => {
      end = waits.begin(reason, who, LONG_MS);
    });
    let isOverdue = false;
    const overdue = () => {
      isOverdue = true;
      this.#overdue++;
    };
    const cancelOverdue = atMostMs === Infinity ? undefined : clock.after(atMostMs, overdue);
    try {
      return await work;
    } finally {
      cancelLong();
      end?.();
      cancelOverdue?.();
      if (isOverdue) this.#overdue--;
    }
  }

  #partOf(part: string | undefined): string {
    return part === undefined ? this.#who : `${this.#who}: ${part}`;
  }
}

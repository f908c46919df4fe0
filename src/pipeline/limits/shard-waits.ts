/** Waits of one shard and their reasons (I8). */
import type { Clock } from '../../../packages/client/src/base/clock.ts';
import type { CallPacer } from './call-pacer.ts';
import type { Rank } from './lanes.ts';
import { LONG_MS, type WaitReason, type WaitReasons } from './wait-reasons.ts';

/** Limits on concurrent tasks of a pipeline. Only encodes and uploads are ranked. */
export type LimitName = 'encodes' | 'uploads' | 'polls' | 'downloads' | 'claims' | 'backlogs';
export type Limits = Readonly<
  Record<LimitName, <T>(run: () => Promise<T>, rank?: Rank) => Promise<T>>
>;

interface ShardWaitsDeps {
  readonly waits: WaitReasons;
  readonly clock: Clock;
  readonly limits: Limits;
  readonly calls?: CallPacer | undefined;
}

export class ShardWaits {
  readonly #deps: ShardWaitsDeps;
  readonly #who: string;
  readonly #signal: AbortSignal;

  constructor(deps: ShardWaitsDeps, shard: number, signal: AbortSignal) {
    this.#deps = deps;
    this.#who = `shard ${shard}`;
    this.#signal = signal;
  }

  /** Begins a wait. @param who default: the shard. @returns a function that ends the wait */
  begin(reason: WaitReason, who = this.#who): () => void {
    return this.#deps.waits.begin(reason, who);
  }

  /** Awaits `work`. Until it ends, the shard, or a part of it, is reported as waiting. */
  while<T>(reason: WaitReason, work: Promise<T>, part?: string): Promise<T> {
    return work.finally(this.#deps.waits.begin(reason, this.#partOf(part)));
  }

  /**
   * Awaits `work`. After LONG_MS, the shard or a part of it is reported as waiting. If calls to the
   * service wait for their turn, the reported reason is the quota.
   * @param part returns the part when the wait is reported; absent for the shard
   */
  async during<T>(
    reason: WaitReason,
    work: Promise<T>,
    part?: () => string | undefined,
  ): Promise<T> {
    const { calls, clock, waits } = this.#deps;
    let end: (() => void) | undefined;
    const cancel = clock.after(LONG_MS, () => {
      const cause = reason === 'service' && calls?.isDelaying ? 'quota' : reason;
      end = waits.begin(cause, this.#partOf(part?.()), LONG_MS);
    });
    try {
      return await work;
    } finally {
      cancel();
      end?.();
    }
  }

  /** Yields the items of `source`. After LONG_MS without an item, the shard is reported as waiting. */
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
   * Runs `run` within a limit of the pipeline. A long wait for the turn is reported for the part of
   * the shard that the limit names. @throws the signal's reason if it was aborted before the turn
   * came
   */
  async permitted<T>(limit: LimitName, run: () => Promise<T>, rank?: Rank): Promise<T> {
    const signal = this.#signal;
    const started = Promise.withResolvers<void>();
    const start = () => started.resolve();
    signal.addEventListener('abort', start, { once: true });
    const reason = limit === 'claims' ? 'kafka' : 'transfer';
    void this.during(reason, started.promise, () => limit);
    try {
      return await this.#deps.limits[limit](() => {
        start();
        signal.throwIfAborted();
        return run();
      }, rank);
    } finally {
      signal.removeEventListener('abort', start);
    }
  }

  #partOf(part: string | undefined): string {
    return part === undefined ? this.#who : `${this.#who}: ${part}`;
  }
}

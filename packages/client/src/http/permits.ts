import pLimit, { type LimitFunction } from 'p-limit';
import { abortable } from '../base/abortable.ts';

/** Concurrency limit. An abort ends the wait for a permit at once. */
export class Permits {
  readonly #limit: LimitFunction;

  constructor(concurrency: number) {
    this.#limit = pLimit(concurrency);
  }

  /** Changes the limit; work in flight goes on. */
  resize(concurrency: number): void {
    this.#limit.concurrency = concurrency;
  }

  /**
   * Resolves with the release of a permit, in the order of the calls. The release is repeatable.
   * @throws the signal's reason when aborted while waiting
   */
  acquire(signal: AbortSignal): Promise<() => void> {
    const permit = Promise.withResolvers<() => void>();
    void this.#limit(async () => {
      if (signal.aborted) return;
      const { promise: released, resolve: release } = Promise.withResolvers<void>();
      permit.resolve(release);
      await released;
    });
    return abortable(permit.promise, signal, (release) => release());
  }

  /** Runs `work` under a permit. */
  async run<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const release = await this.acquire(signal);
    try {
      return await work();
    } finally {
      release();
    }
  }
}

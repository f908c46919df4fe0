import pLimit, { type LimitFunction } from 'p-limit';

/** A limit on how much runs at once, with waiting that an abort ends immediately. */
export class Permits {
  readonly #limit: LimitFunction;

  constructor(concurrency: number) {
    this.#limit = pLimit(concurrency);
  }

  /** From now on this many run at once; what runs already goes on. */
  resize(concurrency: number): void {
    this.#limit.concurrency = concurrency;
  }

  /**
   * Resolves with the permit's release when it is this caller's turn. The release is repeatable.
   * @throws the signal's reason when aborted while waiting.
   */
  acquire(signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    return new Promise((resolve, reject) => {
      const abandon = () => reject(signal.reason);
      signal.addEventListener('abort', abandon, { once: true });
      void this.#limit(async () => {
        signal.removeEventListener('abort', abandon);
        if (signal.aborted) return;
        const { promise: released, resolve: release } = Promise.withResolvers<void>();
        resolve(release);
        await released;
      });
    });
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

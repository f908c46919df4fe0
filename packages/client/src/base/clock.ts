/** System clock and randomness. */
import { setTimeout as wait } from 'node:timers/promises';

/** Time and randomness as inputs, so that tests can control both. */
export interface Clock {
  /** Wall-clock time in whole milliseconds since the epoch. */
  now(): number;
  /**
   * Milliseconds since an arbitrary moment of this process, for intervals. Corrections of the wall
   * clock do not affect it. The wall clock is for times that other processes read, in Kafka's
   * timestamps, the journal and records.
   */
  monotonic(): number;
  /** Runs `fire` once after `ms`, without keeping the process alive. Returns a function that cancels it. */
  after(ms: number, fire: () => void): () => void;
  /** Resolves after `ms`. Rejects with the signal's reason if aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export interface Random {
  /** Returns a random number, uniformly distributed in [0, 1). */
  next(): number;
  /** Returns a new unique id (for jobs and claims). */
  id(): string;
}

/** Maximum delay that Node's timers support. A longer delay would fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => Math.floor(performance.now()),
  after(ms, fire) {
    const timer = setTimeout(fire, delayOf(ms));
    timer.unref();
    return () => clearTimeout(timer);
  },
  async sleep(ms, signal) {
    try {
      await wait(delayOf(ms), undefined, { signal });
    } catch {
      throw signal?.reason;
    }
  },
};

const delayOf = (ms: number): number => Math.min(Math.max(0, ms), MAX_TIMER_MS);

export const systemRandom: Random = { next: Math.random, id: () => crypto.randomUUID() };

/** System clock and randomness. */
import { setTimeout as wait } from 'node:timers/promises';
import type { Clock, Random } from './clock.ts';

/** Longest delay that a timer of Node takes; a longer one would fire at once. */
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

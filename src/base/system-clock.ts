/** System clock and randomness. */
import type { Clock, Random } from './clock.ts';

/** Longest delay that a timer of Node takes; a longer one would fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => Math.floor(performance.now()),
  after(ms, fire) {
    const timer = setTimeout(fire, Math.min(Math.max(0, ms), MAX_TIMER_MS));
    timer.unref();
    return () => clearTimeout(timer);
  },
  sleep(ms, signal) {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const abort = () => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      const timer = setTimeout(
        () => {
          signal?.removeEventListener('abort', abort);
          resolve();
        },
        Math.min(Math.max(0, ms), MAX_TIMER_MS),
      );
      signal?.addEventListener('abort', abort, { once: true });
    });
  },
};

export const systemRandom: Random = { next: Math.random, id: () => crypto.randomUUID() };

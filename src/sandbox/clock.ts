/** Time as the sandbox takes it in: tests own it, and a restart can compare it with what is on disk. */
export interface SandboxClock {
  /** Wall clock, milliseconds since the epoch. */
  now(): number;
  /** Runs `fire` once after `ms`; returns what cancels it. */
  after(ms: number, fire: () => void): () => void;
}

/** setTimeout counts in 32 bits; a longer wait would fire at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export const systemClock: SandboxClock = {
  now: () => Date.now(),
  after(ms, fire) {
    const timer = setTimeout(fire, Math.min(Math.max(ms, 0), LONGEST_TIMER_MS));
    return () => clearTimeout(timer);
  },
};

/** Resolves after `ms`, or at once when `signal` aborts: whoever waits looks at the signal afterwards. */
export function sleep(clock: SandboxClock, ms: number, signal: AbortSignal): Promise<void> {
  if (ms <= 0 || signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const wake = () => {
      cancel();
      signal.removeEventListener('abort', wake);
      resolve();
    };
    const cancel = clock.after(ms, wake);
    signal.addEventListener('abort', wake, { once: true });
  });
}

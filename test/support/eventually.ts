import { setTimeout as sleep } from 'node:timers/promises';

/** A tenth of the wait so far, in these bounds, ms: a long wait costs the processors little, and a short one no time. */
const INTERVAL_MS = { min: 20, max: 100 } as const;

/**
 * Asks again and again until the answer is there, for what gives no signal of its own (another process, a broker).
 * @param what completes "waited in vain until …"
 * @param probe answers undefined or false for "not yet"; an error counts as "not yet" too, and is the cause of the final one.
 * @returns the first answer that is neither.
 */
export async function eventually<T>(
  what: string,
  probe: () => T | undefined | false | Promise<T | undefined | false>,
  {
    deadlineMs = 60_000,
    everyMs,
  }: { readonly deadlineMs?: number; readonly everyMs?: number } = {},
): Promise<T> {
  const startMs = performance.now();
  for (;;) {
    let cause: unknown;
    try {
      const answer = await probe();
      if (answer !== undefined && answer !== false) return answer;
    } catch (error) {
      cause = error;
    }
    const waitedMs = performance.now() - startMs;
    if (waitedMs > deadlineMs)
      throw new Error(`waited in vain (${deadlineMs} ms) until ${what}`, { cause });
    await sleep(everyMs ?? Math.min(Math.max(waitedMs / 10, INTERVAL_MS.min), INTERVAL_MS.max));
  }
}

import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Bounds of the interval between probes, ms. The interval is a tenth of the wait so far, so that long waits cost
 * little and short waits end soon.
 */
const INTERVAL_MS = { min: 20, max: 100 } as const;

/**
 * Polls until `probe` succeeds. Use it for states that send no event, such as the state of another process or a broker.
 * @param what completes "waited in vain until …"
 * @param probe returns undefined or false for "not yet". An error also counts as "not yet"; the last error becomes
 * the cause of the final one.
 * @returns the first other result
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

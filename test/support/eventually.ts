import { setTimeout as sleep } from 'node:timers/promises';

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
    deadlineMs = 15_000,
    everyMs = 20,
  }: { readonly deadlineMs?: number; readonly everyMs?: number } = {},
): Promise<T> {
  const end = performance.now() + deadlineMs;
  for (;;) {
    let cause: unknown;
    try {
      const answer = await probe();
      if (answer !== undefined && answer !== false) return answer;
    } catch (error) {
      cause = error;
    }
    if (performance.now() > end)
      throw new Error(`waited in vain (${deadlineMs} ms) until ${what}`, { cause });
    await sleep(everyMs);
  }
}

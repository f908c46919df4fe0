import type { Clock } from './clock.ts';

/** Longer waits are shown with their end. A Retry-After may be a day. */
const SHOWN_FROM_MS = 60_000;

/** Returns the end of a long wait for people, with a space before it; empty for a short one. */
export function endOfWait(clock: Clock, waitMs: number): string {
  return waitMs < SHOWN_FROM_MS ? '' : ` until ${new Date(clock.now() + waitMs).toISOString()}`;
}

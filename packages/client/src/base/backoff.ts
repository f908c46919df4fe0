/** Delay before a retry. It grows exponentially, with full jitter, and is at least the server's Retry-After. */
import type { Random } from './clock.ts';

export interface Backoff {
  /** Ceiling of the first wait in ms. */
  readonly baseMs: number;
  /** Maximum ceiling in ms. */
  readonly capMs: number;
}

/** Returns the ceiling in ms of the wait after failure number `attempt` (from 0): base · 2^attempt, at most the cap. */
export function backoffCeilingMs(attempt: number, backoff: Backoff): number {
  return Math.min(backoff.capMs, backoff.baseMs * 2 ** attempt);
}

/**
 * Returns a wait in ms, uniform between 0 and the ceiling ("full jitter"). Without jitter, callers
 * that failed together would all retry at the same time.
 */
export function fullJitterMs(
  attempt: number,
  backoff: Backoff,
  random: Pick<Random, 'next'>,
): number {
  return random.next() * backoffCeilingMs(attempt, backoff);
}

/**
 * Returns the wait before the next attempt in ms, at least `floorMs` (a Retry-After). The jitter is
 * added to the floor. Otherwise clients that received the same Retry-After would all return in the
 * same second.
 */
export function retryWaitMs(
  attempt: number,
  backoff: Backoff,
  random: Pick<Random, 'next'>,
  floorMs = 0,
): number {
  return floorMs + fullJitterMs(attempt, backoff, random);
}

/**
 * Delay before a retry: exponential growth, full jitter, and the peer's Retry-After as a minimum.
 */
import type { Random } from './clock.ts';

export interface Backoff {
  /** Ceiling of the first wait, ms. */
  readonly baseMs: number;
  /** No ceiling grows beyond this, ms. */
  readonly capMs: number;
}

/** Ceiling of the wait after failure number `attempt` (0 is the first), in ms: base · 2^attempt, at most the cap. */
export function backoffCeilingMs(attempt: number, backoff: Backoff): number {
  return Math.min(backoff.capMs, backoff.baseMs * 2 ** attempt);
}

/**
 * A wait drawn uniformly between nothing and the ceiling, in ms. The whole range is used ("full jitter") because callers
 * that failed together would otherwise come back together.
 */
export function fullJitterMs(
  attempt: number,
  backoff: Backoff,
  random: Pick<Random, 'next'>,
): number {
  return random.next() * backoffCeilingMs(attempt, backoff);
}

/**
 * Wait before the next attempt, in ms, never shorter than `floorMs` (a Retry-After). The jitter is added on top of the
 * floor: clients that received the same Retry-After would otherwise all return in the same second.
 */
export function retryWaitMs(
  attempt: number,
  backoff: Backoff,
  random: Pick<Random, 'next'>,
  floorMs = 0,
): number {
  return floorMs + fullJitterMs(attempt, backoff, random);
}

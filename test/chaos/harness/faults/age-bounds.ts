/** Longest age of a record without its terminal record after each kind of fault, as docs/internals/testing.md derives it. */
import { RECOVERY_BOUND_MS } from '../observe/recovery.ts';
import { REQUEST_MS, SESSION_MS } from '../world.ts';

/**
 * Longest stall of a partition that has records due, and longest drain after the last fault, ms. The worst is a request on a
 * half-open connection that times out, and a claim that then meets another one; or a drain during which a takeover finds an
 * upload lost, and another one the upload of the next attempt: some 20 s each, and the pauses between attempts.
 */
export const STALL_BOUND_MS = 120_000;

/** From the loss of an owner, or its end, to the decision of what it had in hand. */
const TAKEOVER_MS = 30_000;
/** `review.pause` and `review.poll.max` by default, and another review. */
const SERVICE_MS = 60_000;

/** By the beginning of their names; the first that fits. */
const BOUNDS_MS: readonly (readonly [name: RegExp, ms: number])[] = [
  [/\bservice\b/, SERVICE_MS],
  [/\bregistry\b|broker|Kafka slow|Kafka connections/, RECOVERY_BOUND_MS + TAKEOVER_MS],
  [/half-open/, SESSION_MS + 2 * REQUEST_MS + TAKEOVER_MS],
  [/rolling restart|scaling|partition added|group reset|clock/, TAKEOVER_MS],
  [/kill -9|zombie|cut off|late|resume/, SESSION_MS + TAKEOVER_MS],
];

/** A record that is younger waits for nothing but its review. */
export const CALM_AGE_MS = 10_000;
/** Longest wait for that: a pause of a content type ends meanwhile. */
export const CALM_MS = 40_000;
/** Longer than the default `review.uploadGrace`, so that the report has its length. */
export const GIVE_UP_MS = 360_000;
/** Bound on the age of a record under several faults at a time: none waits for `review.uploadGrace`. */
export const AGE_BOUND_MS = 300_000;

export function ageBoundMs(fault: string): number {
  const [, ms] = BOUNDS_MS.find(([name]) => name.test(fault)) ?? [];
  if (ms === undefined) throw new Error(`no bound for "${fault}"`);
  return ms;
}

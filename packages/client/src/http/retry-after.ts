/** A day: a longer wait is an error of the other side, or of its clock. */
const LONGEST_MS = 86_400_000;

/**
 * Wait of a Retry-After header (seconds, or an HTTP date) in ms; undefined when absent or unreadable.
 * Fractions of seconds are outside the standard, but some services send them.
 * @param nowMs time of the answer, by the clock of its sender if that is known
 */
export function parseRetryAfterMs(header: string | undefined, nowMs: number): number | undefined {
  const text = header?.trim() ?? '';
  const isNumber = /^\d{1,9}(\.\d{1,9})?$/.test(text);
  if (!isNumber && !/^[A-Za-z]{3}/.test(text)) return undefined;
  const waitMs = isNumber ? Math.ceil(Number(text) * 1000) : Date.parse(text) - nowMs;
  return Number.isNaN(waitMs) ? undefined : Math.min(LONGEST_MS, Math.max(0, waitMs));
}

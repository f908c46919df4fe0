/** A day: a wish for more is a mistake of the other side, or of its clock. */
const LONGEST_MS = 86_400_000;

/**
 * The Retry-After header (RFC 9110, 10.2.3: seconds, or an HTTP date) as ms from now; undefined when absent or unreadable.
 */
export function parseRetryAfterMs(header: string | undefined, nowMs: number): number | undefined {
  const text = header?.trim();
  if (text === undefined || text === '') return undefined;
  // Fractions are outside the standard, but some services send them.
  if (/^\d{1,9}(\.\d{1,9})?$/.test(text))
    return Math.min(LONGEST_MS, Math.ceil(Number(text) * 1000));
  if (!/^[A-Za-z]{3}/.test(text)) return undefined;
  const atMs = Date.parse(text);
  return Number.isNaN(atMs) ? undefined : Math.min(LONGEST_MS, Math.max(0, atMs - nowMs));
}

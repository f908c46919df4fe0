/** A machine-readable code or status from the outside, or undefined when it is not shaped like one: other text may be content (I6). */
export function shownCode(raw: unknown): string | undefined {
  return typeof raw === 'string' && /^[A-Za-z][A-Za-z0-9._-]{0,63}$/.test(raw) ? raw : undefined;
}

/** Returns a value from outside if it has the form of a code, otherwise undefined: other text may be content (I6). */
export function shownCode(raw: unknown): string | undefined {
  return typeof raw === 'string' && /^[A-Za-z][A-Za-z0-9._-]{0,63}$/.test(raw) ? raw : undefined;
}

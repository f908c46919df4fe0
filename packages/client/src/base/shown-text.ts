/** Returns an external value if it looks like a code, otherwise undefined, because other text may be content (I6). */
export function shownCode(raw: unknown): string | undefined {
  return typeof raw === 'string' && /^[A-Za-z][A-Za-z0-9._-]{0,63}$/.test(raw) ? raw : undefined;
}

// Escapes for external text. It must not move a terminal's cursor, or change its colours or text
// direction.

const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Returns the text with control and format characters escaped as in JSON: `\u001b`, `\u202e`. */
export function escapeUnprintable(text: string): string {
  return text.replace(UNPRINTABLE, (character) =>
    Array.from({ length: character.length }, (_, unit) => character.charCodeAt(unit))
      .map((code) => `\\u${code.toString(16).padStart(4, '0')}`)
      .join(''),
  );
}

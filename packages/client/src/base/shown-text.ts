/** Returns a value from outside if it has the form of a code, otherwise undefined: other text may be content (I6). */
export function shownCode(raw: unknown): string | undefined {
  return typeof raw === 'string' && /^[A-Za-z][A-Za-z0-9._-]{0,63}$/.test(raw) ? raw : undefined;
}

// Escapes for text of others: it must not move, colour or turn the direction of a terminal.

const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Returns the text with control and format characters as in JSON: `\u001b`, `\u202e`. */
export function escapeUnprintable(text: string): string {
  return text.replace(UNPRINTABLE, (character) =>
    Array.from({ length: character.length }, (_, unit) => character.charCodeAt(unit))
      .map((code) => `\\u${code.toString(16).padStart(4, '0')}`)
      .join(''),
  );
}

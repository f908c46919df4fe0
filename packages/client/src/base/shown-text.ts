import { getSystemErrorMessage } from 'node:util';

/** Returns an external value if it has the form of a code. Returns undefined for other text, which may be content (I6). */
export function shownCode(raw: unknown): string | undefined {
  return typeof raw === 'string' && /^[A-Za-z][A-Za-z0-9._-]{0,63}$/.test(raw) ? raw : undefined;
}

// Escapes for external text, which must not move a terminal's cursor, or change its colours or text
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

/** Returns the cause of a failed system call, such as `no such file or directory`, or the message of any other error. */
export function systemReason(error: unknown): string {
  const { errno, message } = error as NodeJS.ErrnoException;
  return errno === undefined ? message : getSystemErrorMessage(errno);
}

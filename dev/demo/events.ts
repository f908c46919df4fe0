/** Events of the demo: e-mails to review, and poison that cannot be submitted. */
import type { Email } from './corpus.ts';

/** A record for the source topic, with its expected decision or the reason for its dead letter. */
export interface DemoRecord {
  readonly key: string | null;
  readonly value: string | null;
  readonly expected: ExpectedDecision | { readonly deadLetter: string };
}

export interface ExpectedDecision {
  readonly type: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  /** Classification of the corpus. */
  readonly result: 'ham' | 'spam';
}

const poison = (
  deadLetter: string,
  value: string | null,
  key: string | null = `poison/${deadLetter}`,
): DemoRecord => ({ key, value, expected: { deadLetter } });

export const POISON: readonly DemoRecord[] = [
  poison('not_json', 'this is not JSON'),
  poison('not_json', '{"type":"email","content":"cut off in the mid'),
  poison('null_value', null),
  poison('null_value', null, null),
  poison('empty_content', JSON.stringify({ type: 'email', content: '' })),
  poison('no_content', JSON.stringify({ type: 'email', metadata: { size: 0 } })),
  poison('no_type', JSON.stringify({ content: 'An e-mail without a type.' })),
  poison('no_type', JSON.stringify({ type: '', content: 'An e-mail whose type is empty.' })),
  poison('not_an_object', JSON.stringify(['email', 'A list is no event.'])),
  poison(
    'bad_metadata',
    JSON.stringify({ type: 'email', content: 'Metadata must be an object.', metadata: 'size 7' }),
  ),
];

/** Returns events of the next e-mails. */
export async function nextEvents(
  emails: AsyncGenerator<Email, never>,
  count: number,
): Promise<DemoRecord[]> {
  const events: DemoRecord[] = [];
  while (events.length < count) events.push(eventOf((await emails.next()).value));
  return events;
}

export const ARCHIVE_TYPE = 'archive';
/** Number of different subjects in an archive. */
const SUBJECTS = 1_000;

/** Matches headers of mailing lists and bulk mailers. */
const LIST_HEADER = /^(?:list-id|list-unsubscribe|list-post|precedence:\s*(?:bulk|list))\b/im;

/** Creates an event of one of two content types: mail from mailing lists, and mail to one person. */
function eventOf({ id, group, checksum, text }: Email): DemoRecord {
  const headers = text.split(/\r?\n\r?\n/, 1)[0] ?? '';
  const type = LIST_HEADER.test(headers) ? 'mailing-list' : 'email';
  const result = group.startsWith('spam') ? 'spam' : 'ham';
  // Nested metadata with several JSON types and awkward strings.
  const metadata = {
    message: { id, group, checksum },
    subject: headerOf(headers, 'subject'),
    list: headerOf(headers, 'list-id'),
    size: Buffer.byteLength(text),
    has_html: /<html|<body|content-type:\s*text\/html/i.test(text),
    hops: headers.match(/^received:/gim) ?? [],
  };
  return {
    key: `${group}/${id}`,
    value: JSON.stringify({ type, content: text, metadata, expected_result: result }),
    expected: { type, metadata, result },
  };
}

/** Returns records of an archive: subjects of e-mails, with a content type in the default lane. */
export async function archiveEvents(
  emails: AsyncGenerator<Email, never>,
  count: number,
): Promise<DemoRecord[]> {
  const subjects = (await nextEvents(emails, SUBJECTS)).flatMap(({ key, expected }) =>
    'metadata' in expected && expected.metadata.subject ? [{ key, expected }] : [],
  );
  return Array.from({ length: count }, (_, n): DemoRecord => {
    const { key, expected } = subjects[n % subjects.length] as (typeof subjects)[number];
    const { metadata, result } = expected;
    const content = `${metadata.subject} (${n})`;
    return {
      key,
      value: JSON.stringify({ type: ARCHIVE_TYPE, content, metadata, expected_result: result }),
      expected: { type: ARCHIVE_TYPE, metadata, result },
    };
  });
}

/** Returns a header, or null if there is none. Folded lines stay folded. */
const headerOf = (headers: string, name: string): string | null =>
  new RegExp(`^${name}:[ \\t]*(.*(?:\\r?\\n[ \\t].*)*)`, 'im').exec(headers)?.[1] ?? null;

/** Content events made from e-mails, and records that are none. */
import type { Email } from './corpus.ts';

/** A record for the source topic, and what must become of it. */
export interface DemoRecord {
  readonly key: string | null;
  readonly value: string | null;
  readonly expected: ExpectedDecision | ExpectedDeadLetter;
}

export interface ExpectedDecision {
  readonly kind: 'decision';
  readonly type: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly result: 'ham' | 'spam';
  /** The e-mail's subject: printable ASCII, short. */
  readonly title: string;
}

export interface ExpectedDeadLetter {
  readonly kind: 'dead letter';
  /** As in the header `dead-letter-reason`. */
  readonly reason: string;
}

const TITLE_CHARACTERS = 48;

/** What mailing lists and bulk mailers put into their headers. */
const LIST_HEADER = /^(?:list-id|list-unsubscribe|list-post|precedence:\s*(?:bulk|list))\b/im;

/** Two content types: what came over a mailing list, and what was sent to one person. */
export function contentEvent(email: Email): DemoRecord {
  const headers = email.text.split(/\r?\n\r?\n/, 1)[0] ?? '';
  const type = LIST_HEADER.test(headers) ? 'mailing-list' : 'email';
  const result = email.group.startsWith('spam') ? 'spam' : 'ham';
  const metadata = metadataOf(email, headers);
  return {
    key: `${email.group}/${email.id}`,
    value: JSON.stringify({ type, content: email.text, metadata, expected_result: result }),
    expected: { kind: 'decision', type, metadata, result, title: titleOf(headers) },
  };
}

/** Of every JSON type, nested, with leading zeros and texts that are anything but tame. */
function metadataOf(email: Email, headers: string): Record<string, unknown> {
  const letters = email.text.replace(/[^A-Za-z]/g, '');
  const capitals = letters.replace(/[^A-Z]/g, '').length;
  return {
    message: { id: email.id, group: email.group, checksum: email.checksum },
    subject: headerOf(headers, 'subject'),
    list: headerOf(headers, 'list-id'),
    size: Buffer.byteLength(email.text),
    lines: email.text.split('\n').length,
    capitals: letters === '' ? null : Number((capitals / letters.length).toFixed(4)),
    has_html: /<html|<body|content-type:\s*text\/html/i.test(email.text),
    hops: headers.match(/^received:/gim) ?? [],
  };
}

/** null when there is no such header. Folded lines stay as they came. */
function headerOf(headers: string, name: string): string | null {
  return new RegExp(`^${name}:[ \\t]*(.*(?:\\r?\\n[ \\t].*)*)`, 'im').exec(headers)?.[1] ?? null;
}

/** Safe to print: e-mails may hold anything, terminal commands too. */
function titleOf(headers: string): string {
  const subject = (headerOf(headers, 'subject') ?? '').replace(/\s+/g, ' ').trim();
  const printable = subject.replace(/[^\x20-\x7e]/g, '.');
  if (printable === '') return '(no subject)';
  return printable.length > TITLE_CHARACTERS ? `${printable.slice(0, TITLE_CHARACTERS - 3)}...` : printable;
}

/** Records that the connector cannot submit, each with the reason that its dead letter must give. */
export const POISON: readonly DemoRecord[] = [
  poison('not_json', 'this is not JSON'),
  poison('not_json', '{"type":"email","content":"cut off in the mid'),
  poison('null_value', null),
  poison('null_value', null, null),
  poison('empty_content', JSON.stringify({ type: 'email', content: '' })),
  poison('no_content', JSON.stringify({ type: 'email', metadata: { size: 0 } })),
  poison('no_type', JSON.stringify({ content: 'An e-mail whose type nobody knows.' })),
  poison('no_type', JSON.stringify({ type: '', content: 'An e-mail whose type is empty.' })),
  poison('not_an_object', JSON.stringify(['email', 'A list is no event.'])),
  poison('bad_metadata', JSON.stringify({ type: 'email', content: 'Metadata must be an object.', metadata: 'size 7' })),
];

function poison(reason: string, value: string | null, key: string | null = `poison/${reason}`): DemoRecord {
  return { key, value, expected: { kind: 'dead letter', reason } };
}

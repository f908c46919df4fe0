/** Content events made from e-mails, and records that are none. */
import { type Email, readEmails } from '../corpus.ts';
import { type DemoRecord, poison, withPoison } from '../ledger.ts';
import { headerOf, headersOf, type Result, resultOf, titleOf } from '../mail.ts';

export const EMAILS = 2_000;

export interface ExpectedDecision {
  readonly type: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly result: Result;
  /** The e-mail's subject, safe to print. */
  readonly title: string;
}

export function contentEvents(): AsyncIterable<DemoRecord<ExpectedDecision>> {
  return withPoison(good(), EMAILS, CONTENT_POISON);
}

async function* good() {
  for await (const email of readEmails(EMAILS)) yield contentEvent(email);
}

/** Headers of mailing lists and bulk mailers. */
const LIST_HEADER = /^(?:list-id|list-unsubscribe|list-post|precedence:\s*(?:bulk|list))\b/im;

/** Two content types: what came over a mailing list, and what was sent to one person. */
export function contentEvent(email: Email): DemoRecord<ExpectedDecision> {
  const headers = headersOf(email);
  const type = LIST_HEADER.test(headers) ? 'mailing-list' : 'email';
  const result = resultOf(email);
  const metadata = metadataOf(email, headers);
  return {
    key: `${email.group}/${email.id}`,
    value: JSON.stringify({ type, content: email.text, metadata, expected_result: result }),
    expected: { outcome: { type, metadata, result, title: titleOf(headers) } },
  };
}

/** Returns metadata of every JSON type, nested, with leading zeros and awkward texts. */
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

export const CONTENT_POISON = [
  poison('not_json', 'this is not JSON'),
  poison('not_json', '{"type":"email","content":"cut off in the mid'),
  poison('null_value', null),
  poison('null_value', null, null),
  poison('empty_content', JSON.stringify({ type: 'email', content: '' })),
  poison('no_content', JSON.stringify({ type: 'email', metadata: { size: 0 } })),
  poison('no_type', JSON.stringify({ content: 'An e-mail whose type nobody knows.' })),
  poison('no_type', JSON.stringify({ type: '', content: 'An e-mail whose type is empty.' })),
  poison('not_an_object', JSON.stringify(['email', 'A list is no event.'])),
  poison(
    'bad_metadata',
    JSON.stringify({ type: 'email', content: 'Metadata must be an object.', metadata: 'size 7' }),
  ),
];

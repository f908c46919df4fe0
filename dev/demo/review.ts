/** Review of e-mails: one decision for each. */
import { isDeepStrictEqual } from 'node:util';
import {
  type Email,
  headerOf,
  headersOf,
  type Result,
  readEmails,
  resultOf,
  titleOf,
} from './corpus.ts';
import {
  type DemoRecord,
  FAILED,
  type Match,
  METADATA_CHANGED,
  type Outcome,
  WRONG,
} from './judge.ts';
import { type DemoKind, poison, withPoison } from './pipeline.ts';
import { counted, grouped } from './screen.ts';

const EMAILS = 2_000;

export interface ExpectedDecision {
  readonly type: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly result: Result;
  /** The e-mail's subject, safe to print. */
  readonly title: string;
}

/** Members of a decision that the demo reads (contracts/decision.schema.json). */
export interface Decision extends Outcome {
  readonly result: string | null;
  readonly expected_result: string | null;
  readonly labels: readonly Label[];
  readonly metadata: unknown;
  readonly batch: { readonly id: string; readonly type: string };
}

export interface Label {
  readonly name: string;
  readonly applied: boolean;
}

export const appliedLabels = (labels: readonly Label[]): string =>
  labels.flatMap(({ name, applied }) => (applied ? [name] : [])).join(', ') || '-';

export const CONTENT_POISON = [
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

/** Headers of mailing lists and bulk mailers. */
const LIST_HEADER = /^(?:list-id|list-unsubscribe|list-post|precedence:\s*(?:bulk|list))\b/im;

/** Makes an event of one of two content types: mails of a mailing list, and mails to one person. */
export function contentEvent(email: Email): DemoRecord<ExpectedDecision> {
  const headers = headersOf(email);
  const type = LIST_HEADER.test(headers) ? 'mailing-list' : 'email';
  const result = resultOf(email);
  const letters = email.text.replace(/[^A-Za-z]/g, '');
  const capitals = letters.replace(/[^A-Z]/g, '').length;
  // Every JSON type, nested, with leading zeros and awkward texts.
  const metadata = {
    message: { id: email.id, group: email.group, checksum: email.checksum },
    subject: headerOf(headers, 'subject'),
    list: headerOf(headers, 'list-id'),
    size: Buffer.byteLength(email.text),
    lines: email.text.split('\n').length,
    capitals: letters === '' ? null : Number((capitals / letters.length).toFixed(4)),
    has_html: /<html|<body|content-type:\s*text\/html/i.test(email.text),
    hops: headers.match(/^received:/gim) ?? [],
  };
  return {
    key: `${email.group}/${email.id}`,
    value: JSON.stringify({ type, content: email.text, metadata, expected_result: result }),
    expected: { outcome: { type, metadata, result, title: titleOf(headers) } },
  };
}

async function* contentEvents() {
  for await (const email of readEmails(EMAILS)) yield contentEvent(email);
}

export const reviewDemo: DemoKind<ExpectedDecision, Decision> = {
  name: 'review',
  input: `${grouped(EMAILS)} real e-mails, and ${CONTENT_POISON.length} poison records`,
  published: 'decided',
  output: 'a decision for each e-mail',
  total: EMAILS + CONTENT_POISON.length,
  // About 300 KB, which is also the size of the largest e-mail.
  perSend: 50,
  records: () => withPoison(contentEvents(), EMAILS, CONTENT_POISON),
  checker: async () => checkDecision,
  facts({ matches, wrong }) {
    const batches = new Set(matches.map(({ outcome }) => outcome.batch.id)).size;
    const kept = matches.length - (wrong.get(METADATA_CHANGED)?.length ?? 0);
    const perResult = [...Map.groupBy(matches, ({ expected }) => expected.result)]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([result, among]) => `${agreed(among)} of ${result}`);
    return [
      `${counted(batches, 'batch', 'batches')}; metadata deep-equal in ${grouped(kept)} of ${grouped(matches.length)}`,
      `results as expected: ${agreed(matches)} (${perResult.join(', ')})`,
    ];
  },
  samples: {
    heads: ['event', 'type', 'result', 'expected', 'labels', 'subject'],
    groupOf: ({ expected, outcome }) => `${expected.result} ${outcome.result}`,
    cells: ({ expected, outcome }) => [
      { text: outcome.id },
      { text: outcome.batch.type },
      {
        text: outcome.result ?? 'none',
        style: outcome.result === expected.result ? 'green' : 'yellow',
      },
      { text: expected.result },
      { text: appliedLabels(outcome.labels) },
      { text: expected.title, style: 'dim' },
    ],
  },
};

export function checkDecision(expected: ExpectedDecision, decision: Decision): string[] {
  if (decision.batch.type !== expected.type || decision.expected_result !== expected.result)
    return [WRONG];
  return [
    ...(isDeepStrictEqual(decision.metadata, expected.metadata) ? [] : [METADATA_CHANGED]),
    ...(decision.status === 'SUCCESS' ? [] : [FAILED]),
  ];
}

/** Share of decisions with the expected result: `91.3 %`. */
function agreed(among: readonly Match<ExpectedDecision, Decision>[]): string {
  const right = among.filter(({ expected, outcome }) => outcome.result === expected.result).length;
  return among.length === 0 ? 'none' : `${((100 * right) / among.length).toFixed(1)} %`;
}

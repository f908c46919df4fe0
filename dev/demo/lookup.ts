/**
 * Lookup of decisions by their ids, as a contact form uses it: it submits a message and gets an id
 * at once, and the decision is made later. Some end in an error, some ids are unknown to the service.
 */
import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { headerOf, headersOf, readEmails, titleOf } from './corpus.ts';
import { type DemoRecord, latencyMs, METADATA_CHANGED, type Outcome, WRONG } from './judge.ts';
import { type DemoKind, poison, type Sandbox, withPoison } from './pipeline.ts';
import { appliedLabels, type Label } from './review.ts';
import { grouped, seconds } from './screen.ts';

const LOOKED_UP = 100;
/** One of so many fails, and one is unknown. */
const EVERY = 20;
const PENDING = { leastMs: 1_500, stepMs: 250, steps: 13 };

export interface ExpectedFinding {
  readonly decisionId: string;
  readonly end: 'decided' | 'failed' | 'unknown';
  readonly metadata: Readonly<Record<string, unknown>>;
  /** The e-mail's subject, safe to print. */
  readonly title: string;
}

/** Members of a looked-up decision that the demo reads (contracts/looked-up-decision.schema.json). */
export interface LookedUp extends Outcome {
  readonly decision_id: string;
  readonly decision_status: string | null;
  readonly result: string | null;
  readonly labels: readonly Label[];
  readonly metadata: unknown;
}

const LOOKUP_POISON = [
  poison('not_json', 'an id that is not in JSON'),
  poison('null_value', null),
  poison('no_content', JSON.stringify({ from: 'contact form' })),
  poison('empty_content', JSON.stringify({ decision_id: '', from: 'contact form' })),
];

async function* lookupEvents(sandbox: Sandbox): AsyncGenerator<DemoRecord<ExpectedFinding>> {
  let index = 0;
  // Others than those that are reviewed in batches.
  for await (const email of readEmails(LOOKED_UP, 1)) {
    const place = index % EVERY;
    const end = place === 5 ? 'failed' : place === 15 ? 'unknown' : 'decided';
    const pendingMs = PENDING.leastMs + PENDING.stepMs * (index++ % PENDING.steps);
    const headers = headersOf(email);
    const metadata = {
      message: { id: email.id, group: email.group },
      subject: headerOf(headers, 'subject'),
      urgent: pendingMs < 2_000,
    };
    const decision = {
      type: 'email',
      content: email.text,
      metadata,
      pending: `${pendingMs}ms`,
      ...(end === 'failed' ? { decision_status: 'ERROR' } : {}),
    };
    const decisionId = end === 'unknown' ? randomUUID() : await submit(decision, sandbox);
    yield {
      key: `${email.group}/${email.id}`,
      value: JSON.stringify({ decision_id: decisionId, from: 'contact form' }),
      expected: { outcome: { decisionId, end, metadata, title: titleOf(headers) } },
    };
  }
}

/** @returns the id of the decision */
async function submit(decision: object, { url, signal }: Sandbox): Promise<string> {
  const response = await fetch(`${url}/sandbox/decisions`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify([decision]),
    signal,
  });
  if (!response.ok) throw new Error(`the sandbox refused an e-mail: HTTP ${response.status}`);
  const { decision_ids } = (await response.json()) as { readonly decision_ids: readonly [string] };
  return decision_ids[0];
}

export const lookupDemo: DemoKind<ExpectedFinding, LookedUp> = {
  name: 'lookup',
  input: `${grouped(LOOKED_UP)} ids of decisions under way, and ${LOOKUP_POISON.length} poison records`,
  published: 'looked up',
  output: 'the decision of each id, once it is made',
  total: LOOKED_UP + LOOKUP_POISON.length,
  perSend: 10,
  records: (sandbox) => withPoison(lookupEvents(sandbox), LOOKED_UP, LOOKUP_POISON),
  checker: async () => check,
  facts({ matches, wrong }) {
    const ended = (end: ExpectedFinding['end']) =>
      grouped(matches.filter(({ expected }) => expected.end === end).length);
    const bad = [...wrong.values()].flat().length;
    return [
      `${ended('decided')} decided, ${ended('failed')} failed, ${ended('unknown')} unknown: ` +
        `${grouped(matches.length - bad)} of ${grouped(matches.length)} as it should be`,
    ];
  },
  samples: {
    heads: ['event', 'result or error', 'waited', 'labels', 'subject'],
    groupOf: ({ expected, outcome }) => `${expected.end} ${outcome.result}`,
    cells: ({ expected, outcome }) => [
      { text: outcome.id },
      outcome.error === null
        ? { text: outcome.result ?? 'none', style: 'green' }
        : { text: outcome.error.code, style: 'yellow' },
      { text: seconds(latencyMs(outcome)).padStart('waited'.length) },
      { text: appliedLabels(outcome.labels) },
      { text: expected.title, style: 'dim' },
    ],
  },
};

const ENDS = {
  decided: { decisionStatus: 'SUCCESS', code: undefined },
  failed: { decisionStatus: 'ERROR', code: 'review_failed' },
  unknown: { decisionStatus: null, code: 'decision_unknown' },
} as const;

function check({ decisionId, end, metadata }: ExpectedFinding, found: LookedUp): string[] {
  const { decisionStatus, code } = ENDS[end];
  const isRight =
    found.decision_id === decisionId &&
    found.decision_status === decisionStatus &&
    found.error?.code === code &&
    found.status === (code === undefined ? 'SUCCESS' : 'ERROR') &&
    (found.result !== null) === (end === 'decided');
  if (!isRight) return [WRONG];
  return end === 'unknown' || isDeepStrictEqual(found.metadata, metadata) ? [] : [METADATA_CHANGED];
}

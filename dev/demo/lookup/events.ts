/**
 * Ids of decisions that were asked for one by one, as a form that takes a message does: it hands the message in, gets an id
 * at once, and the decision is made later. Some end in an error, some ids the service has never heard of.
 */
import { randomUUID } from 'node:crypto';
import { type Email, readEmails } from '../corpus.ts';
import type { Sandbox } from '../kind.ts';
import { type DemoRecord, poison, withPoison } from '../ledger.ts';
import { headerOf, headersOf, type Result, resultOf, titleOf } from '../mail.ts';

export const LOOKED_UP = 100;
/** Among which one fails, and one is unknown. */
const EVERY = 20;
/** Decisions are pending for this long, ms. */
const PENDING_MS = { least: 1_500, step: 250, steps: 13 };

export interface ExpectedFinding {
  readonly decisionId: string;
  readonly end: 'decided' | 'failed' | 'unknown';
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly result: Result;
  /** The e-mail's subject, safe to print. */
  readonly title: string;
}

export function lookupEvents(sandbox: Sandbox): AsyncIterable<DemoRecord<ExpectedFinding>> {
  return withPoison(good(sandbox), LOOKED_UP, LOOKUP_POISON);
}

async function* good(sandbox: Sandbox): AsyncGenerator<DemoRecord<ExpectedFinding>> {
  let index = 0;
  // Others than those that are reviewed in batches.
  for await (const email of readEmails(LOOKED_UP, { shift: 1 })) {
    const end = index % EVERY === 5 ? 'failed' : index % EVERY === 15 ? 'unknown' : 'decided';
    const { least, step, steps } = PENDING_MS;
    yield lookupEvent(email, end, least + step * (index % steps), sandbox);
    index += 1;
  }
}

async function lookupEvent(
  email: Email,
  end: ExpectedFinding['end'],
  pendingMs: number,
  sandbox: Sandbox,
): Promise<DemoRecord<ExpectedFinding>> {
  const headers = headersOf(email);
  const metadata = {
    message: { id: email.id, group: email.group },
    subject: headerOf(headers, 'subject'),
    urgent: pendingMs < 2_000,
  };
  const decisionId =
    end === 'unknown' ? randomUUID() : await handIn(email.text, metadata, end, pendingMs, sandbox);
  return {
    key: `${email.group}/${email.id}`,
    value: JSON.stringify({ decision_id: decisionId, from: 'contact form' }),
    expected: {
      outcome: { decisionId, end, metadata, result: resultOf(email), title: titleOf(headers) },
    },
  };
}

/** @returns the id of the decision. */
async function handIn(
  content: string,
  metadata: ExpectedFinding['metadata'],
  end: ExpectedFinding['end'],
  pendingMs: number,
  { url, signal }: Sandbox,
): Promise<string> {
  const failing = end === 'failed' ? { decision_status: 'ERROR' } : {};
  const answer = await fetch(`${url}/sandbox/decisions`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify([
      { type: 'email', content, metadata, pending: `${pendingMs}ms`, ...failing },
    ]),
    signal,
  });
  if (!answer.ok) throw new Error(`the sandbox did not take an e-mail: HTTP ${answer.status}`);
  const { decision_ids } = (await answer.json()) as { readonly decision_ids: readonly [string] };
  return decision_ids[0];
}

export const LOOKUP_POISON = [
  poison('not_json', 'an id that is not in JSON'),
  poison('null_value', null),
  poison('no_content', JSON.stringify({ from: 'contact form' })),
  poison('empty_content', JSON.stringify({ decision_id: '', from: 'contact form' })),
];

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type DeadLetter,
  FAILED,
  judge,
  METADATA_CHANGED,
  OTHER_END,
  type ProducedRecords,
  problemsOf,
  WRONG,
} from '../../../dev/demo/judge.ts';
import {
  CONTENT_POISON,
  contentEvent,
  type Decision,
  type ExpectedDecision,
  reviewDemo,
} from '../../../dev/demo/review.ts';
import { email, source } from './fixtures.ts';

const TOPIC = 'emails';
const [poison] = CONTENT_POISON;
assert.ok(poison);
const { value: poisoned } = poison;
const ledger: ProducedRecords<ExpectedDecision> = new Map([
  ['0-0', contentEvent(email('easy-ham-1'))],
  ['0-1', contentEvent(email('spam-1'))],
  ['1-0', poison],
]);
const check = await reviewDemo.checker([], { url: '', signal: new AbortController().signal });

function decision(partition: number, offset: number, changes: Partial<Decision> = {}): Decision {
  const expected = ledger.get(`${partition}-${offset}`)?.expected;
  const event =
    expected && 'outcome' in expected
      ? expected.outcome
      : { type: 'email', metadata: {}, result: 'ham' };
  return {
    id: `${TOPIC}-${partition}-${offset}`,
    status: 'SUCCESS',
    error: null,
    result: event.result,
    expected_result: event.result,
    labels: [],
    metadata: structuredClone(event.metadata),
    batch: { id: 'b', type: event.type },
    source: source(TOPIC, partition, offset),
    decided_at: '2026-01-01T00:00:01.000Z',
    ...changes,
  };
}

function letter(changes: Partial<DeadLetter> = {}): DeadLetter {
  return {
    id: `${TOPIC}-1-0`,
    reason: 'not_json',
    message: '',
    value: poisoned,
    source: source(TOPIC, 1, 0),
    ...changes,
  };
}

function judged(outcomes: readonly Decision[], deadLetters: readonly DeadLetter[]) {
  return judge(ledger, { topic: TOPIC, outcomes, deadLetters }, check);
}

const both = [decision(0, 0), decision(0, 1)];

test('one correct outcome for every record is no problem', () => {
  const verdict = judged(both, [letter()]);
  assert.deepEqual(problemsOf(verdict), []);
  assert.deepEqual([verdict.produced, verdict.published, verdict.deadLettered], [3, 2, 1]);
  assert.deepEqual(verdict.latenciesMs, [1_000, 1_000]);
});

const FAULTS: readonly (readonly [
  string,
  string,
  string,
  readonly Decision[],
  readonly DeadLetter[],
])[] = [
  ['a missing outcome', 'neither outcome nor dead letter', '0-1', [decision(0, 0)], [letter()]],
  ['a missing dead letter', 'neither outcome nor dead letter', '1-0', both, []],
  [
    'an outcome twice',
    'more than one outcome or dead letter',
    '0-1',
    [...both, decision(0, 1)],
    [letter()],
  ],
  [
    'an outcome and a dead letter',
    'more than one outcome or dead letter',
    '0-1',
    both,
    [letter(), letter({ source: source(TOPIC, 0, 1) })],
  ],
  ['an outcome of nothing', 'never produced', '2-9', [...both, decision(2, 9)], [letter()]],
  [
    "another pipeline's outcome",
    'never produced',
    'user-data-0-0',
    [...both, decision(0, 0, { source: source('user-data', 0, 0) })],
    [letter()],
  ],
  [
    'metadata with a number for a text',
    METADATA_CHANGED,
    '0-0',
    [changed(7), decision(0, 1)],
    [letter()],
  ],
  ['another reason', OTHER_END, '1-0', both, [letter({ reason: 'no_type' })]],
  ['other bytes', OTHER_END, '1-0', both, [letter({ value: 'x' })]],
  ['an outcome where a dead letter belongs', OTHER_END, '1-0', [...both, decision(1, 0)], []],
  [
    'a failed review',
    FAILED,
    '0-0',
    [decision(0, 0, { status: 'ERROR' }), decision(0, 1)],
    [letter()],
  ],
  [
    'a decision in a batch of another type',
    WRONG,
    '0-0',
    [decision(0, 0, { batch: { id: 'b', type: 'mailing-list' } }), decision(0, 1)],
    [letter()],
  ],
];

function changed(id: unknown): Decision {
  const whole = decision(0, 0);
  const metadata = whole.metadata as { message: object };
  return { ...whole, metadata: { ...metadata, message: { ...metadata.message, id } } };
}

for (const [name, what, at, decisions, deadLetters] of FAULTS) {
  test(`the judge finds ${name}`, () => {
    assert.deepEqual(problemsOf(judged(decisions, deadLetters)), [
      `${what}: 1 record, at (partition-offset) ${at}`,
    ]);
  });
}

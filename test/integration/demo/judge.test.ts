import assert from 'node:assert/strict';
import { test } from 'node:test';
import { contentEvent, type DemoRecord, POISON } from '../../../dev/demo/events.ts';
import { type DeadLetter, type Decision, judge, problemsOf } from '../../../dev/demo/judge.ts';
import type { Ledger } from '../../../dev/demo/producer.ts';

const [poison] = POISON as readonly [DemoRecord];
const ledger: Ledger = new Map([
  ['0-0', email('easy-ham-1')],
  ['0-1', email('spam-1')],
  ['1-0', poison],
]);

function email(group: string): DemoRecord {
  return contentEvent({ id: '007', group, checksum: { type: 'MD5', value: '0' }, text: 'Subject: hello\n\nbody' });
}

function decision(partition: number, offset: number, changes: Partial<Decision> = {}): Decision {
  const expected = ledger.get(`${partition}-${offset}`)?.expected;
  const event = expected?.kind === 'decision' ? expected : { type: 'email', metadata: {}, result: 'ham' };
  return {
    id: `content-events-${partition}-${offset}`,
    status: 'SUCCESS',
    result: event.result,
    expected_result: event.result,
    labels: [],
    metadata: structuredClone(event.metadata),
    batch: { type: event.type },
    source: { partition, offset, timestamp: '2026-01-01T00:00:00.000Z' },
    decided_at: '2026-01-01T00:00:01.000Z',
    ...changes,
  };
}

function letter(changes: Partial<DeadLetter> = {}): DeadLetter {
  return { id: 'content-events-1-0', reason: 'not_json', message: '', value: poison.value, coordinate: '1-0', ...changes };
}

const both = [decision(0, 0), decision(0, 1)];

test('one right outcome for every record is well', () => {
  const verdict = judge(ledger, both, [letter()]);
  assert.deepEqual(problemsOf(verdict), []);
  assert.deepEqual([verdict.produced, verdict.decided, verdict.deadLettered], [3, 2, 1]);
  assert.deepEqual(verdict.latenciesMs, [1_000, 1_000]);
});

const FAULTS: readonly (readonly [string, RegExp, readonly Decision[], readonly DeadLetter[]])[] = [
  ['a missing decision', /^1 record without .*: 0-1$/, [decision(0, 0)], [letter()]],
  ['a missing dead letter', /^1 record without .*: 1-0$/, both, []],
  ['a decision twice', /^1 record with more than one .*: 0-1$/, [...both, decision(0, 1)], [letter()]],
  ['a decision and a dead letter', /^1 record with more than one .*: 0-1$/, both, [letter(), letter({ coordinate: '0-1' })]],
  ['a decision of nothing', /^1 record that were never produced .*: 2-9$/, [...both, decision(2, 9)], [letter()]],
  ['metadata with a number for a text', /^1 record whose metadata .*: 0-0$/, [changed(7), decision(0, 1)], [letter()]],
  [
    'another reason',
    /^1 record whose decision or dead letter is not the right one .*: 1-0$/,
    both,
    [letter({ reason: 'no_type' })],
  ],
  ['other bytes', /^1 record whose decision or dead letter is not the right one .*: 1-0$/, both, [letter({ value: 'x' })]],
  [
    'a failed review',
    /^1 record whose review failed .*: 0-0$/,
    [decision(0, 0, { status: 'ERROR' }), decision(0, 1)],
    [letter()],
  ],
];

function changed(id: unknown): Decision {
  const whole = decision(0, 0);
  const metadata = whole.metadata as { message: object };
  return { ...whole, metadata: { ...metadata, message: { ...metadata.message, id } } };
}

for (const [what, problem, decisions, deadLetters] of FAULTS) {
  test(`the judge finds ${what}`, () => {
    const problems = problemsOf(judge(ledger, decisions, deadLetters));
    assert.equal(problems.length, 1, problems.join('\n'));
    assert.match(problems[0] ?? '', problem);
  });
}

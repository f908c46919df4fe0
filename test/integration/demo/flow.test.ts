import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fasterRules } from '../../../dev/demo/alerts.ts';
import { type CommittedRecord, namesWith } from '../../../dev/demo/cluster.ts';
import { Flow } from '../../../dev/demo/flow.ts';
import { problemsOf } from '../../../dev/demo/judge.ts';
import { CONTENT_POISON, contentEvent } from '../../../dev/demo/review.ts';
import { email, source } from './fixtures.ts';

const names = namesWith('').pipelines.review;
const [poison] = CONTENT_POISON;
assert.ok(poison);

function decision(offset: number, result: string): CommittedRecord {
  const event = contentEvent(email('easy-ham-1')).expected;
  const value = {
    status: 'SUCCESS',
    error: null,
    result,
    expected_result: 'ham',
    metadata: 'outcome' in event ? event.outcome.metadata : null,
    batch: { id: 'b', type: 'email' },
    source: source(names.source, 0, offset),
    decided_at: '2026-01-01T00:00:01.000Z',
  };
  return {
    topic: names.outcomes,
    key: null,
    value: Buffer.from(JSON.stringify(value)),
    headers: [['event-id', `${names.source}-0-${offset}`]],
  };
}

function letter(offset: number, value: string | null = 'this is not JSON'): CommittedRecord {
  return {
    topic: names.deadLetters,
    key: null,
    value: value === null ? null : Buffer.from(value),
    headers: [
      ['event-id', `${names.source}-0-${offset}`],
      ['dead-letter-reason', 'not_json'],
      ['dead-letter-topic', names.source],
      ['dead-letter-partition', '0'],
      ['dead-letter-offset', String(offset)],
    ],
  };
}

test('e-mails that keep coming are judged one by one, also those that come back before their acknowledgement', () => {
  const flow = new Flow(names);
  flow.onSent('0-0', contentEvent(email('easy-ham-1')));
  flow.take(decision(1, 'ham'));
  const [beforeMs] = [performance.now()];
  flow.onSent('0-1', contentEvent(email('easy-ham-1')));
  flow.onSent('0-2', poison);
  flow.take(letter(2));
  assert.equal(flow.hasPassed(beforeMs), false, 'the first one is still on its way');
  flow.take(decision(0, 'ham'));
  assert.equal(flow.hasPassed(beforeMs), true);
  const verdict = flow.verdict();
  assert.deepEqual(problemsOf(verdict), []);
  assert.deepEqual([verdict.produced, verdict.published, verdict.deadLettered], [3, 2, 1]);
  assert.equal(verdict.latenciesMs.length, 2);
});

test('the verdict on e-mails that keep coming names missing, double, unknown and wrong ones', () => {
  const flow = new Flow(names);
  for (const at of ['0-0', '0-1']) flow.onSent(at, contentEvent(email('easy-ham-1')));
  flow.onSent('0-2', poison);
  for (const end of [decision(1, 'ham'), decision(1, 'ham'), letter(2, 'x'), decision(7, 'ham')])
    flow.take(end);
  assert.deepEqual(problemsOf(flow.verdict()), [
    'neither outcome nor dead letter: 1 record, at (partition-offset) 0-0',
    'more than one outcome or dead letter: 1 record, at (partition-offset) 0-1',
    'never produced: 1 record, at (partition-offset) 0-7',
    'ended in another way than it should: 1 record, at (partition-offset) 0-2',
  ]);
});

test('the alerts of the demo have all durations divided by 20, and nothing else changed', () => {
  const [group] = fasterRules([
    {
      name: 'g',
      rules: [
        { record: 'content_review:share6h', expr: 'sum(x[6h] offset 1w)' },
        {
          name: 'ContentReviewX',
          severity: 'warning',
          expr: 'sum_over_time((x{code!~"2..|3m"} > bool 0)[60m:1m]) > 54 and time() > 1800',
          for: '10m',
          summary: 's',
          description: 'd',
        },
      ],
    },
  ]);
  assert.deepEqual(
    group?.rules.map((rule) => [rule.expr, 'for' in rule ? rule.for : undefined]),
    [
      ['sum(x[1080000ms] offset 30240000ms)', undefined],
      [
        'sum_over_time((x{code!~"2..|3m"} > bool 0)[180000ms:3000ms]) > 54 and time() > 1800',
        '30000ms',
      ],
    ],
  );
});

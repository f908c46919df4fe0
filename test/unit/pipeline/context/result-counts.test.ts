import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RowOutcome } from '../../../../src/core/bytes/result-row.ts';
import { DecisionTally, ResultCounts } from '../../../../src/pipeline/context/result-counts.ts';
import { RecordingMetrics } from '../../../support/memory/telemetry/recording-telemetry.ts';

function mixOf(maxResults: number, ...results: (string | undefined)[]): Record<string, number> {
  const metrics = new RecordingMetrics();
  const mix = new ResultCounts(metrics, 'p', maxResults);
  const tally = new DecisionTally();
  for (const result of results) tally.add({ isError: false, result });
  mix.count(tally);
  const name = /^decision_results_total\{pipeline="p",result="(.*)"\}$/s;
  return Object.fromEntries(
    [...metrics.counters].map(([series, count]) => [name.exec(series)?.[1] ?? series, count]),
  );
}

test('decisions are counted by their result, and those without one are not', () => {
  assert.deepEqual(mixOf(20, 'spam', 'ham', 'spam', undefined), { spam: 2, ham: 1 });
});

test('results beyond the first few are one series', () => {
  const names = Array.from({ length: 1_000 }, (_, n) => `r${n}`);
  assert.deepEqual(mixOf(2, ...names, 'r1', 'r999'), { r0: 1, r1: 2, other: 999 });
});

test('what does not look like the name of a result shows nowhere', () => {
  const texts = [
    'Dear Sir,\nyou won',
    'a@b.example',
    'x'.repeat(65),
    ' spam',
    '"',
    'https://h/?X-Amz-Signature=1',
    '',
  ];
  assert.deepEqual(mixOf(20, ...texts, 'Sales talk', 'policy/1.2:low', 'überprüft'), {
    other: texts.length,
    'Sales talk': 1,
    'policy/1.2:low': 1,
    überprüft: 1,
  });
});

test('the mix can be left out', () => {
  assert.deepEqual(mixOf(0, 'spam'), {});
});

/** Evaluated decisions by `expected → result`, with a `!` where they do not agree. */
function evaluated(maxResults: number, transactions: readonly (readonly RowOutcome[])[]) {
  const metrics = new RecordingMetrics();
  const counts = new ResultCounts(metrics, 'p', maxResults);
  for (const outcomes of transactions) {
    const tally = new DecisionTally();
    for (const outcome of outcomes) tally.add(outcome);
    counts.count(tally);
  }
  const series =
    /^decisions_evaluated_total\{agrees="(true|false)",expected="(.*)",pipeline="p",result="(.*)"\}$/;
  return Object.fromEntries(
    [...metrics.counters].flatMap(([name, count]) => {
      const [, agrees, expected, result] = series.exec(name) ?? [];
      const mark = agrees === 'false' ? ' !' : '';
      return result === undefined ? [] : [[`${expected} → ${result}${mark}`, count]];
    }),
  );
}

const decided = (expected: string | undefined, result: string | undefined, isError = false) => ({
  ...{ isError, result, expected },
});

test('decisions are compared with the expected result, if they have a result and no error', () => {
  const outcomes = [
    ...[decided('spam', 'spam'), decided('spam', 'spam'), decided('spam', 'ham')],
    ...[decided('ham', 'ham'), decided(undefined, 'ham'), decided('', 'ham')],
    ...[decided('ham', undefined), decided('ham', 'ham', true)],
  ];
  assert.deepEqual(evaluated(20, [outcomes]), {
    'spam → spam': 2,
    'spam → ham !': 1,
    'ham → ham': 1,
  });
});

test('an expected result is a label only if the service has given it as a result', () => {
  const first = [decided('ham', 'spam'), decided('Dear Sir', 'spam'), decided('rare', 'ham')];
  assert.deepEqual(evaluated(20, [first, [decided('rare', 'rare')], [decided('rare', 'ham')]]), {
    'ham → spam !': 1,
    'other → spam !': 1,
    'other → ham !': 1,
    'rare → rare': 1,
    'rare → ham !': 1,
  });
});

test('agreement shows beyond the limit of results as well', () => {
  const outcomes = [decided('a', 'a'), decided('b', 'b'), decided('b', 'c'), decided('a', 'c')];
  assert.deepEqual(evaluated(1, [outcomes]), {
    'a → a': 1,
    'other → other': 1,
    'other → other !': 1,
    'a → other !': 1,
  });
});

test('producers cannot make series', () => {
  const outcomes = Array.from({ length: 5_000 }, (_, n) => decided(`name${n}`, `r${n % 50}`));
  assert.ok(Object.keys(evaluated(20, [outcomes])).length <= 22);
});

test('a counter is raised once for all rows of the same labels', () => {
  const metrics = new RecordingMetrics();
  let raised = 0;
  const count = metrics.count.bind(metrics);
  metrics.count = (...all) => {
    raised++;
    count(...all);
  };
  const tally = new DecisionTally();
  for (let n = 0; n < 1_000; n++) tally.add(decided(`name${n}`, n % 2 === 0 ? 'spam' : 'ham'));
  new ResultCounts(metrics, 'p', 20).count(tally);
  assert.equal(raised, 4);
});

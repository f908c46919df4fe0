import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DecisionTally, ResultCounts } from '../../../../src/pipeline/context/result-counts.ts';
import { RecordingMetrics } from '../../../support/memory/telemetry/recording-telemetry.ts';

function mixOf(maxResults: number, ...results: (string | undefined)[]): Record<string, number> {
  const metrics = new RecordingMetrics();
  const mix = new ResultCounts(metrics, 'p', maxResults);
  const tally = new DecisionTally();
  for (const result of results) tally.add(false, result);
  mix.count(tally.results);
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

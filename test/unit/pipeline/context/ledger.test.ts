import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ledger } from '../../../../src/pipeline/context/ledger.ts';
import { RecordingMetrics } from '../../../support/memory/telemetry/recording-telemetry.ts';

test('what came in and has not ended is open, and each way in and out has its counter', () => {
  const metrics = new RecordingMetrics();
  const ledger = new Ledger(metrics, 'p');
  ledger.consumed(100);
  ledger.recovered(20);
  ledger.published(57, 7, new Map([['ham', 49]]));
  ledger.deadLettered(Array.from({ length: 3 }, () => ({ reason: 'not_json' })));
  ledger.skipped('filtered', 2);
  ledger.released(30);
  assert.equal(ledger.open, 28);
  assert.deepEqual(Object.fromEntries(metrics.counters), {
    'events_consumed_total{pipeline="p"}': 100,
    'items_recovered_total{pipeline="p"}': 20,
    'decisions_total{pipeline="p",status="SUCCESS"}': 50,
    'decisions_total{pipeline="p",status="ERROR"}': 7,
    'decision_results_total{pipeline="p",result="ham"}': 49,
    'dead_lettered_total{pipeline="p",reason="not_json"}': 3,
    'events_skipped_total{pipeline="p",reason="filtered"}': 2,
    'items_released_total{pipeline="p"}': 30,
  });
});

function mixOf(...results: string[]): Record<string, number> {
  const metrics = new RecordingMetrics();
  const ledger = new Ledger(metrics, 'p');
  for (const result of results) ledger.published(0, 0, new Map([[result, 1]]));
  const name = /^decision_results_total\{pipeline="p",result="(.*)"\}$/s;
  return Object.fromEntries(
    [...metrics.counters].map(([series, count]) => [name.exec(series)?.[1] ?? series, count]),
  );
}

test('results beyond the first few are one series', () => {
  const names = Array.from({ length: 1_000 }, (_, n) => `r${n}`);
  const mix = mixOf(...names, 'r1', 'r999');
  assert.deepEqual([Object.keys(mix).length, mix.r1, mix.other], [21, 2, 981]);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ledger } from '../../../../src/pipeline/context/ledger.ts';
import { DecisionTally, ResultCounts } from '../../../../src/pipeline/context/result-counts.ts';
import { RecordingMetrics } from '../../../support/memory/telemetry/recording-telemetry.ts';

test('what came in and has not ended is open, and each way in and out has its counter', () => {
  const metrics = new RecordingMetrics();
  const ledger = new Ledger(metrics, 'p', new ResultCounts(metrics, 'p', 5));
  ledger.consumed(100);
  ledger.recovered(20);
  const tally = new DecisionTally();
  for (let n = 0; n < 49; n++) tally.add({ isError: false, result: 'ham' });
  tally.add({ isError: false });
  for (let n = 0; n < 7; n++) tally.add({ isError: true });
  ledger.published(tally);
  ledger.deadLettered('not_json', 3);
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

test('nothing booked makes no series', () => {
  const metrics = new RecordingMetrics();
  const ledger = new Ledger(metrics, 'p');
  ledger.published(new DecisionTally());
  ledger.consumed(0);
  assert.deepEqual([metrics.counters.size, ledger.open], [0, 0]);
});

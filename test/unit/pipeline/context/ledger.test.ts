import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ledger } from '../../../../src/pipeline/context/ledger.ts';
import { RecordingMetrics } from '../../../support/memory/telemetry/recording-telemetry.ts';

function mixOf(...results: string[]): Record<string, number> {
  const metrics = new RecordingMetrics();
  const ledger = new Ledger(metrics, 'p');
  for (const result of results) ledger.published(0, 0, new Map([[result, 1]]));
  const name = /^decision_results_total\{pipeline="p",result="(.*)"\}$/s;
  return Object.fromEntries(
    [...metrics.counters].map(([series, count]) => [name.exec(series)?.[1] ?? series, count]),
  );
}

test('all results after the first 20 share one series', () => {
  const names = Array.from({ length: 1_000 }, (_, n) => `r${n}`);
  const mix = mixOf(...names, 'r1', 'r999');
  assert.deepEqual([Object.keys(mix).length, mix.r1, mix.other], [21, 2, 981]);
});

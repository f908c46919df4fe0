import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Activity, SAMPLES } from '../../../../src/telemetry/console/activity.ts';
import { Durations } from '../../../../src/telemetry/console/latency.ts';
import { RecordingMetrics } from '../../../support/memory/recording-telemetry.ts';

const at = { pipeline: 'p' };

test('a quantile is within a tenth of the duration of that rank', () => {
  fc.assert(
    fc.property(
      fc.array(fc.double({ min: 0.001, max: 90_000, noNaN: true }), {
        minLength: 1,
        maxLength: 200,
      }),
      fc.double({ min: 0.01, max: 1, noNaN: true }),
      (seconds, q) => {
        const durations = new Durations();
        for (const one of seconds) durations.add(one);
        const exact = seconds.toSorted((a, b) => a - b)[
          Math.max(1, Math.ceil(q * seconds.length)) - 1
        ] as number;
        const told = durations.quantile(q) as number;
        assert.ok(Math.abs(told - exact) <= exact * 0.1 + 0.001, `${told} for ${exact}`);
      },
    ),
  );
  assert.equal(new Durations().quantile(0.5), null);
});

test('what is counted reaches the metrics as it was, and the samples by pipeline', () => {
  const metrics = new RecordingMetrics();
  const activity = new Activity(metrics, ['p', 'q']);
  activity.count('events_consumed_total', at, 7);
  activity.count('decisions_total', { ...at, status: 'SUCCESS' }, 4);
  activity.count('dead_lettered_total', { ...at, reason: 'not_json' });
  activity.count('orphaned_jobs_total', {});
  activity.set('items_in_flight', at, 2);
  activity.observe('event_to_decision_seconds', at, 3, 19);
  activity.observe('event_to_decision_seconds', at, 60);
  activity.sample(1_000);
  assert.equal(metrics.counter('events_consumed_total', at), 7);
  assert.equal(metrics.counter('orphaned_jobs_total'), 1);
  assert.deepEqual(metrics.observations.get('event_to_decision_seconds{pipeline="p"}'), [
    ...Array(19).fill(3),
    60,
  ]);
  const [{ p50, p95, ...sample }] = activity.of('p').samplesAfter(0) as [
    ReturnType<ReturnType<typeof activity.of>['samplesAfter']>[number],
  ];
  assert.deepEqual(sample, { atMs: 1_000, consumed: 7, decided: 5, inFlight: 2, lag: 0 });
  assert.ok(
    Math.abs((p50 as number) - 3) < 0.3 && Math.abs((p95 as number) - 3) < 0.3,
    `${p50} and ${p95}`,
  );
  assert.equal(activity.of('q').samplesAfter(0)[0]?.consumed, 0);
  assert.throws(() => activity.of('r'), /no pipeline is named r/);
});

test('a sample counts from the sample before, and a gauge that is taken away is not known', () => {
  const activity = new Activity(new RecordingMetrics(), ['p']);
  activity.count('events_consumed_total', at, 7);
  activity.sample(1_000);
  activity.count('events_consumed_total', at, 1);
  activity.sample(2_000);
  assert.deepEqual(
    activity
      .of('p')
      .samplesAfter(1_000)
      .map(({ atMs, consumed }) => [atMs, consumed]),
    [[2_000, 1]],
  );
  activity.set('balance_items', at, 0);
  assert.equal(activity.of('p').gauge('balance_items'), 0);
  activity.remove('balance_items', at);
  assert.equal(activity.of('p').gauge('balance_items'), null);
});

test('samples and outcomes are bounded', () => {
  const activity = new Activity(new RecordingMetrics(), ['p']);
  for (let n = 0; n < SAMPLES + 50; n++) {
    activity.count('decision_results_total', { ...at, result: `r${n}` });
    activity.sample(n + 1);
  }
  assert.equal(activity.of('p').samplesAfter(0).length, SAMPLES);
  assert.equal(activity.of('p').outcomesAfter(0).length, 200);
});

test('outcomes are told since the start and of late, the most first; what never happened is no outcome', () => {
  const activity = new Activity(new RecordingMetrics(), ['p']);
  activity.count('decisions_total', { ...at, status: 'ERROR' }, 0);
  activity.count('jobs_failed_total', { ...at, reason: 'batch_failed' }, 2);
  activity.sample(1_000);
  activity.count('decisions_total', { ...at, status: 'SUCCESS' }, 9);
  assert.deepEqual(activity.of('p').outcomesAfter(1_000), [
    { outcome: 'decision SUCCESS', recent: 9, total: 9 },
    { outcome: 'failed attempt batch_failed', recent: 0, total: 2 },
  ]);
});

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { DecisionTally } from '../../../../src/pipeline/context/result-counts.ts';
import { TypeMetrics } from '../../../../src/pipeline/context/type-metrics.ts';
import { PromMetrics } from '../../../../src/telemetry/metrics/metrics.ts';
import { World } from '../../../support/engine/world.ts';
import { RecordingMetrics } from '../../../support/memory/telemetry/recording-telemetry.ts';

function typesOf(maxTypes: number) {
  const metrics = new RecordingMetrics();
  const types = new TypeMetrics(metrics, 'p', maxTypes);
  const tally = new DecisionTally();
  for (const isError of [false, false, true]) tally.add({ isError });
  return { metrics, types, tally };
}

test('each type has its own series, whose counters begin at 0', () => {
  const { metrics, types, tally } = typesOf(5);
  types.inFlight([{ type: 'post', records: 3, oldestEventMs: 7_000 }]);
  const begun = {
    'type_dead_letters_total{pipeline="p",type="unknown"}': 0,
    'type_dead_letters_total{pipeline="p",type="post"}': 0,
    'type_rows_submitted_total{pipeline="p",type="post"}': 0,
    'type_decisions_late_total{pipeline="p",type="post"}': 0,
    'type_decisions_total{pipeline="p",status="SUCCESS",type="post"}': 0,
    'type_decisions_total{pipeline="p",status="ERROR",type="post"}': 0,
  };
  assert.deepEqual(Object.fromEntries(metrics.counters), begun);
  types.submitted('post', 3);
  types.decided('post', tally, 90, true);
  types.deadLettered('post', 4);
  types.deadLettered(undefined, 5);
  assert.deepEqual(Object.fromEntries(metrics.counters), {
    'type_dead_letters_total{pipeline="p",type="unknown"}': 5,
    'type_dead_letters_total{pipeline="p",type="post"}': 4,
    'type_rows_submitted_total{pipeline="p",type="post"}': 3,
    'type_decisions_late_total{pipeline="p",type="post"}': 3,
    'type_decisions_total{pipeline="p",status="SUCCESS",type="post"}': 2,
    'type_decisions_total{pipeline="p",status="ERROR",type="post"}': 1,
  });
  assert.deepEqual(Object.fromEntries(metrics.observations), {
    'type_event_to_decision_seconds{pipeline="p",type="post"}': [90, 90, 90],
  });
});

test('the gauges of a type follow its records, and its age ends with them', () => {
  const { metrics, types } = typesOf(5);
  types.inFlight([
    { type: 'post', records: 3, oldestEventMs: 7_000 },
    { type: undefined, records: 1, oldestEventMs: 1_000 },
    { type: 'post', records: 2, oldestEventMs: 5_000 },
  ]);
  assert.deepEqual(Object.fromEntries(metrics.gauges), {
    'type_items_in_flight{pipeline="p",type="unknown"}': 1,
    'type_oldest_unsettled_timestamp_seconds{pipeline="p",type="unknown"}': 1,
    'type_items_in_flight{pipeline="p",type="post"}': 5,
    'type_oldest_unsettled_timestamp_seconds{pipeline="p",type="post"}': 5,
  });
  types.inFlight([]);
  assert.deepEqual(Object.fromEntries(metrics.gauges), {
    'type_items_in_flight{pipeline="p",type="unknown"}': 0,
    'type_items_in_flight{pipeline="p",type="post"}': 0,
  });
});

test('producers cannot make more series than allowed, nor show content in them', () => {
  const { metrics, types, tally } = typesOf(2);
  const hostile = ['a@b.example', 'x'.repeat(65), 'line\nline', '"}', ''];
  const names = [...hostile, ...Array.from({ length: 1_000 }, (_, n) => `t${n}`)];
  for (const type of names) {
    types.submitted(type, 1);
    types.decided(type, tally, 1, false);
    types.deadLettered(type, 1);
  }
  types.inFlight(names.map((type) => ({ type, records: 1, oldestEventMs: 0 })));
  const shown = [metrics.counters, metrics.gauges, metrics.observations].flatMap((one) =>
    [...one.keys()].map((series) => /type="(.*)"\}$/s.exec(series)?.[1]),
  );
  assert.deepEqual([...new Set(shown)].sort(), ['other', 't0', 't1', 'unknown']);
  assert.equal(metrics.gauges.get('type_items_in_flight{pipeline="p",type="other"}'), 1_003);
});

test('the number of series is the one that docs/metrics.md calculates', async () => {
  const metrics = new PromMetrics({ version: '1', nodeMetrics: false });
  const types = new TypeMetrics(metrics, 'p', 4);
  const { tally } = typesOf(0);
  const names = [undefined, ...Array.from({ length: 9 }, (_, n) => `t${n}`)];
  types.inFlight(names.map((type) => ({ type, records: 1, oldestEventMs: 1 })));
  for (const type of names) if (type !== undefined) types.decided(type, tally, 1, false);
  const series = (await metrics.render()).match(/^content_review_type_/gm);
  const page = readFileSync(new URL('../../../../docs/metrics.md', import.meta.url), 'utf8');
  const [, perType, more] = /\| (\d+) × \(`maxTypes` \+ 1\) \+ (\d+) \|/.exec(page) ?? [];
  assert.equal(series?.length, Number(perType) * (4 + 1) + Number(more));
});

test('with a limit of 0 there are none', () => {
  const { metrics, types, tally } = typesOf(0);
  types.submitted('post', 1);
  types.decided('post', tally, 1, false);
  types.deadLettered(undefined, 1);
  types.inFlight([{ type: 'post', records: 1, oldestEventMs: 0 }]);
  assert.equal(metrics.counters.size + metrics.gauges.size + metrics.observations.size, 0);
});

test('records count under their type from the buffer to a decision or a dead letter', async () => {
  const world = new World({
    partitions: 1,
    options: {
      batch: { maxRows: 2 },
      review: { onRejectedType: 'dead-letter' },
    },
    service: {
      fault: (operation, _id, type) =>
        operation === 'create' && type === 'refused' ? { failure: 'rejected' } : undefined,
    },
  });
  const { metrics } = world.start();
  for (const type of ['a', 'a', 'a', 'b', 'refused', 'refused']) world.event(0, type);
  world.put(0, 'not json');
  await world.untilSettled(10 * 60_000);
  await world.clock.advance(2_000);
  const of = (name: string, type: string) => metrics.counter(name, { type });
  assert.deepEqual([of('type_decisions_total', 'a'), of('type_decisions_total', 'b')], [3, 1]);
  assert.deepEqual(
    [of('type_rows_submitted_total', 'a'), of('type_rows_submitted_total', 'refused')],
    [3, 0],
  );
  assert.deepEqual(
    ['refused', 'unknown', 'a'].map((type) => of('type_dead_letters_total', type)),
    [2, 1, 0],
  );
});

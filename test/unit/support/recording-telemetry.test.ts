import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  RecordingHealth,
  RecordingLogger,
  RecordingMetrics,
} from '../../support/memory/telemetry/recording-telemetry.ts';

test('counters sum over the series that match; gauges are exact, and can be taken away', () => {
  const metrics = new RecordingMetrics();
  metrics.count('items_total', { shard: 1, type: 'text' });
  metrics.count('items_total', { type: 'text', shard: 2 }, 4);
  metrics.count('items_total_other', { type: 'text' }, 100);
  assert.equal(metrics.counter('items_total'), 5);
  assert.equal(metrics.counter('items_total', { shard: 2 }), 4);
  assert.equal(metrics.counter('items_total', { shard: 3 }), 0);
  metrics.set('lag', { shard: 1 }, 7);
  assert.equal(metrics.gauge('lag', { shard: 1 }), 7);
  metrics.set('lag', { shard: 1 }, undefined);
  assert.equal(metrics.gauge('lag', { shard: 1 }), undefined);
  metrics.observe('seconds', {}, 0.5);
  metrics.observe('seconds', {}, 1);
  assert.deepEqual(metrics.observations.get('seconds'), [0.5, 1]);
});

test('one name used as two kinds of metric, or a counter that falls, is an error', () => {
  const metrics = new RecordingMetrics();
  metrics.count('a', {});
  assert.throws(() => metrics.set('a', {}, 1), /used as gauge and as counter/);
  assert.throws(() => metrics.count('a', {}, -1), /cannot go by -1/);
});

test('child loggers add their fields to one common list, and nothing inside an error hides from a search', () => {
  const log = new RecordingLogger();
  const cause = Object.assign(new Error('outer', { cause: new Error('secret-in-cause') }), {
    url: 'secret-field',
  });
  log.child({ shard: 1 }).child({ job: 'j' }).warn({ err: cause }, 'trouble');
  assert.deepEqual(log.lines[0], {
    level: 'warn',
    fields: { shard: 1, job: 'j', err: cause },
    message: 'trouble',
  });
  for (const hidden of ['secret-in-cause', 'secret-field', 'outer'])
    assert.ok(log.text().includes(hidden));
});

test('health remembers what loops do and which conditions fail', () => {
  const health = new RecordingHealth();
  health.beat('a');
  health.waiting('b', 'a transaction', 10);
  health.ready('group');
  health.notReady('shards', 'claiming 3');
  assert.deepEqual([...health.loops.values()], ['beat', 'a transaction']);
  assert.deepEqual(health.complaints, ['shards: claiming 3']);
  health.ended('a');
  health.ready('shards');
  assert.deepEqual([health.loops.size, health.complaints], [1, []]);
});

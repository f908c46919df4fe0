import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WaitReasons } from '../../../src/pipeline/wait-reasons.ts';
import { RecordingMetrics } from '../../support/memory/recording-telemetry.ts';

test('each reason shows who waits for it, and its gauge counts them', () => {
  const metrics = new RecordingMetrics();
  const waits = new WaitReasons(metrics, 'p');
  const gauge = (reason: string) => metrics.gauge('shards_paused', { pipeline: 'p', reason });
  const one = waits.begin('memory', 'shard 1');
  const two = waits.begin('memory', 'shard 2');
  const span = waits.begin('span', 'partition 3');
  assert.deepEqual(waits.current(), [
    { reason: 'memory', who: ['shard 1', 'shard 2'] },
    { reason: 'span', who: ['partition 3'] },
  ]);
  assert.deepEqual([gauge('memory'), gauge('span'), gauge('claim')], [2, 1, undefined]);
  one();
  span();
  assert.deepEqual(waits.current(), [{ reason: 'memory', who: ['shard 2'] }]);
  assert.deepEqual([gauge('memory'), gauge('span')], [1, 0]);
  two();
  assert.deepEqual(waits.current(), []);
});

test('who waits twice waits until both waits are over, and an end told twice counts once', () => {
  const metrics = new RecordingMetrics();
  const waits = new WaitReasons(metrics, 'p');
  const first = waits.begin('service_unavailable', 'shard 0');
  const second = waits.begin('service_unavailable', 'shard 0');
  first();
  first();
  assert.deepEqual(waits.current(), [{ reason: 'service_unavailable', who: ['shard 0'] }]);
  assert.equal(metrics.gauge('shards_paused', { pipeline: 'p', reason: 'service_unavailable' }), 1);
  second();
  assert.deepEqual(waits.current(), []);
});

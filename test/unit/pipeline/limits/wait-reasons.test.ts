import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ShardWaits } from '../../../../src/pipeline/limits/shard-waits.ts';
import { WaitReasons } from '../../../../src/pipeline/limits/wait-reasons.ts';
import { VirtualClock } from '../../../support/memory/clock.ts';
import {
  RecordingLogger,
  RecordingMetrics,
} from '../../../support/memory/telemetry/recording-telemetry.ts';

const forever = new AbortController().signal;

const current = (waits: WaitReasons) => waits.view(8).map(({ reason, who }) => ({ reason, who }));

function world() {
  const clock = new VirtualClock();
  const metrics = new RecordingMetrics();
  const logger = new RecordingLogger();
  const waits = new WaitReasons({ metrics, pipeline: 'p', clock, logger });
  const turn = Promise.withResolvers<void>();
  const limit = async <T>(run: () => Promise<T>) => {
    await turn.promise;
    return run();
  };
  const limits = {
    encodes: limit,
    uploads: limit,
    polls: limit,
    downloads: limit,
    claims: limit,
    backlogs: limit,
  };
  const gauge = (reason: string) => metrics.gauge('shards_paused', { pipeline: 'p', reason });
  const said = () =>
    logger.lines.map(({ level, message, fields }) => ({ level, message, ...fields }));
  /** Returns the waits of a shard whose calls get their permits when `turn` is resolved. */
  const shard = (n: number, signal = forever) =>
    new ShardWaits({ waits, clock, limits }, n, signal);
  return { clock, waits, gauge, said, shard, turn };
}

test('each reason shows its waiters, and its gauge counts them', () => {
  const { waits, gauge } = world();
  const one = waits.begin('memory', 'shard 1');
  const two = waits.begin('memory', 'shard 2');
  const full = waits.begin('in_flight', 'partition 3');
  assert.deepEqual(current(waits), [
    { reason: 'memory', who: ['shard 1', 'shard 2'] },
    { reason: 'in_flight', who: ['partition 3'] },
  ]);
  assert.deepEqual([gauge('memory'), gauge('in_flight'), gauge('kafka')], [2, 1, undefined]);
  one();
  full();
  assert.deepEqual(current(waits), [{ reason: 'memory', who: ['shard 2'] }]);
  assert.deepEqual([gauge('memory'), gauge('in_flight')], [1, 0]);
  two();
  assert.deepEqual(current(waits), []);
});

test('slow work is a wait from five seconds on until it ends', async () => {
  const { clock, waits, gauge, shard } = world();
  const work = Promise.withResolvers<string>();
  const one = shard(1);
  const result = one.during('kafka', work.promise);
  await clock.advance(4_999);
  assert.equal(gauge('kafka'), undefined);
  await clock.advance(1);
  assert.deepEqual(current(waits), [{ reason: 'kafka', who: ['shard 1'] }]);
  work.resolve('done');
  assert.equal(await result, 'done');
  assert.equal(gauge('kafka'), 0);
  await assert.rejects(one.during('kafka', Promise.reject(new Error('no'))), /no/);
  await clock.advance(10_000);
  assert.deepEqual([gauge('kafka'), clock.timers], [0, 0]);
});

test('waiting for a permit is a wait, running with it is not, and an aborted caller neither waits nor runs', async () => {
  const { clock, waits, gauge, shard, turn } = world();
  const abort = new AbortController();
  const one = shard(1).permitted('uploads', () => clock.sleep(20_000));
  const two = shard(2, abort.signal).permitted('uploads', async () => assert.fail('aborted'));
  const refused = assert.rejects(two, /lost/);
  await clock.advance(5_000);
  assert.equal(gauge('transfer'), 2);
  abort.abort(new Error('lost'));
  await clock.settle();
  assert.deepEqual(current(waits), [{ reason: 'transfer', who: ['shard 1: uploads'] }]);
  turn.resolve();
  await clock.advance(10_000);
  assert.equal(gauge('transfer'), 0);
  await clock.advance(10_000);
  await Promise.all([one, refused]);
});

test('a wait is logged when it lasts, every five minutes, and when it ends; short interruptions do not end it', async () => {
  const { clock, waits, said } = world();
  waits.begin('memory', 'shard 9')();
  await clock.advance(60_000);
  assert.deepEqual(said(), []);
  const first = waits.begin('memory', 'shard 1');
  await clock.advance(3_000);
  const second = waits.begin('memory', 'shard 2');
  await clock.advance(2_000);
  const waiting = { level: 'warn', message: 'pipeline stalled', reason: 'memory' };
  assert.deepEqual(said(), [{ ...waiting, waiting: 2, who: ['shard 1', 'shard 2'], seconds: 5 }]);
  first();
  second();
  await clock.advance(4_000);
  const third = waits.begin('memory', 'shard 3');
  await clock.advance(300_000);
  assert.deepEqual(said().slice(1), [{ ...waiting, waiting: 1, who: ['shard 3'], seconds: 305 }]);
  third();
  await clock.advance(5_000);
  assert.deepEqual(said().slice(2), [
    { level: 'info', message: 'pipeline resumed', reason: 'memory', seconds: 314 },
  ]);
  await clock.advance(600_000);
  assert.deepEqual([said().length, clock.timers], [3, 0]);
});

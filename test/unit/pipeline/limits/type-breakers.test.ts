import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FAILURES_IN_A_ROW, TypeBreakers } from '../../../../src/pipeline/limits/type-breakers.ts';
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
  const logger = new RecordingLogger();
  const waits = new WaitReasons({
    metrics: new RecordingMetrics(),
    pipeline: 'p',
    clock,
    logger: new RecordingLogger(),
  });
  const breakers = new TypeBreakers({ clock, logger, waits, pauseMs: 10_000 });
  /** Returns the time in milliseconds until a type is unblocked, or Infinity if that takes more than 60 s. */
  const blockedMs = async (type: string): Promise<number> => {
    const fromMs = clock.now();
    let openedMs: number | undefined;
    void breakers.ready(type, forever).then(() => {
      openedMs = clock.now();
    });
    await clock.runUntil(() => openedMs !== undefined, 60_000);
    return (openedMs ?? Number.POSITIVE_INFINITY) - fromMs;
  };
  return { clock, logger, waits, breakers, blockedMs };
}

test('five failures in a row block a type, and after the pause one more failure is enough', async () => {
  const { breakers, blockedMs, logger } = world();
  for (let n = 1; n < FAILURES_IN_A_ROW; n++) breakers.failed('a');
  assert.equal(await blockedMs('a'), 0);
  assert.equal(logger.lines.length, 0);
  breakers.failed('a');
  assert.equal(await blockedMs('b'), 0);
  assert.equal(await blockedMs('a'), 10_000);
  breakers.failed('a');
  assert.equal(await blockedMs('a'), 10_000);
  assert.equal(logger.lines.length, 1);
});

test('a wait is reported with its reason until the type is unblocked or the wait is aborted', async () => {
  const { clock, breakers, waits } = world();
  breakers.rejected('a', 'no');
  for (let n = 0; n < FAILURES_IN_A_ROW; n++) breakers.failed('b');
  const abort = new AbortController();
  const given = breakers.ready('a', abort.signal);
  const other = breakers.ready('b', abort.signal);
  given.catch(() => undefined);
  assert.deepEqual(current(waits), [{ reason: 'type_blocked', who: ['type a', 'type b'] }]);
  await clock.advance(5_000);
  const reason = new Error('the shard is lost');
  abort.abort(reason);
  await assert.rejects(given, reason);
  await assert.rejects(other, reason);
  assert.deepEqual(current(waits), []);
});

test('a blocked type lets one batch through per pause as a probe, until a batch of the type succeeds', async () => {
  const { clock, breakers } = world();
  assert.equal(breakers.tryAcquire('a'), 'free');
  for (let n = 1; n < FAILURES_IN_A_ROW; n++) assert.equal(breakers.failed('a'), false);
  assert.equal(breakers.tryAcquire('a'), 'free');
  assert.equal(breakers.failed('a'), true, 'the type is blocked now');
  assert.equal(breakers.tryAcquire('a'), undefined);
  await clock.advance(10_000);
  assert.deepEqual([breakers.tryAcquire('a'), breakers.tryAcquire('a')], ['probe', undefined]);
  await clock.advance(10_000);
  assert.deepEqual([breakers.tryAcquire('a'), breakers.tryAcquire('b')], ['probe', 'free']);
  breakers.succeeded('a');
  assert.deepEqual([breakers.tryAcquire('a'), breakers.tryAcquire('a')], ['free', 'free']);
});

test('a created batch unblocks a refused type, but not a type whose batches fail', () => {
  const { breakers } = world();
  breakers.rejected('a', 'no');
  breakers.accepted('a');
  assert.equal(breakers.tryAcquire('a'), 'free');
  for (let n = 0; n < FAILURES_IN_A_ROW; n++) breakers.failed('b');
  breakers.accepted('b');
  assert.equal(breakers.tryAcquire('b'), undefined);
});

test('a pause keeps its length although the wall clock is set back', async () => {
  const { clock, breakers, blockedMs } = world();
  breakers.rejected('a', 'no');
  clock.correct(-3_600_000);
  assert.equal(await blockedMs('a'), 10_000);
  assert.deepEqual(
    [...breakers.blocked()].map(({ nextTryMs }) => nextTryMs),
    [clock.now()],
  );
});

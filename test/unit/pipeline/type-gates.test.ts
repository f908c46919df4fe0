import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  FAILURES_IN_A_ROW,
  type GatePass,
  TypeBreakers,
} from '../../../src/pipeline/limits/type-breakers.ts';
import { WaitReasons } from '../../../src/pipeline/limits/wait-reasons.ts';
import { VirtualClock } from '../../support/memory/clock.ts';
import { RecordingLogger, RecordingMetrics } from '../../support/memory/recording-telemetry.ts';

const forever = new AbortController().signal;

function world() {
  const clock = new VirtualClock();
  const logger = new RecordingLogger();
  const waits = new WaitReasons({
    metrics: new RecordingMetrics(),
    pipeline: 'p',
    clock,
    logger: new RecordingLogger(),
  });
  const gates = new TypeBreakers({ clock, logger, waits, pauseMs: 10_000 });
  /**
   * Returns the time for which the breaker of a type blocks, in ms; more than 60 s counts as
   * permanently.
   */
  const heldMs = async (type: string): Promise<number> => {
    const fromMs = clock.now();
    let openedMs: number | undefined;
    void gates.open(type, forever).then(() => {
      openedMs = clock.now();
    });
    await clock.runUntil(() => openedMs !== undefined, 60_000);
    return (openedMs ?? Number.POSITIVE_INFINITY) - fromMs;
  };
  return { clock, logger, waits, gates, heldMs };
}

test('a type that nothing was heard of is open', async () => {
  assert.equal(await world().heldMs('a'), 0);
});

test('a rejected type is held for the pause, others are not, and the alert names the type', async () => {
  const { gates, heldMs, logger } = world();
  gates.rejected('a', 'HTTP 400');
  assert.equal(await heldMs('b'), 0);
  assert.equal(await heldMs('a'), 10_000);
  assert.equal(await heldMs('a'), 0, 'after the pause it is tried again');
  assert.deepEqual(
    logger.lines.map(({ level, fields }) => [level, fields.type, fields.error]),
    [['error', 'a', 'HTTP 400']],
  );
});

test('five failures in a row hold a type, four do not, and after the pause one more is enough', async () => {
  const { gates, heldMs, logger } = world();
  for (let n = 1; n < FAILURES_IN_A_ROW; n++) gates.failed('a');
  assert.equal(await heldMs('a'), 0);
  assert.equal(logger.lines.length, 0);
  gates.failed('a');
  assert.equal(await heldMs('b'), 0);
  assert.equal(await heldMs('a'), 10_000);
  gates.failed('a');
  assert.equal(await heldMs('a'), 10_000);
  assert.equal(logger.lines.length, 2);
});

test('a success between failures begins the count anew', async () => {
  const { gates, heldMs } = world();
  for (let n = 1; n < FAILURES_IN_A_ROW; n++) gates.failed('a');
  gates.succeeded('a');
  for (let n = 1; n < FAILURES_IN_A_ROW; n++) gates.failed('a');
  assert.equal(await heldMs('a'), 0);
});

test('who waits is shown with the reason, and no longer once the gate is open or the wait was given up', async () => {
  const { clock, gates, waits } = world();
  gates.rejected('a', 'no');
  for (let n = 0; n < FAILURES_IN_A_ROW; n++) gates.failed('b');
  const abort = new AbortController();
  const given = gates.open('a', abort.signal);
  const other = gates.open('b', abort.signal);
  given.catch(() => undefined);
  assert.deepEqual(waits.current(), [
    { reason: 'type_rejected', who: ['type a'] },
    { reason: 'type_failing', who: ['type b'] },
  ]);
  await clock.advance(5_000);
  const reason = new Error('the shard is lost');
  abort.abort(reason);
  await assert.rejects(given, reason);
  await assert.rejects(other, reason);
  assert.deepEqual(waits.current(), []);
});

test('a gate that closes again while somebody waits holds them for the new pause too', async () => {
  const { clock, gates } = world();
  gates.rejected('a', 'no');
  let open = false;
  void gates.open('a', new AbortController().signal).then(() => {
    open = true;
  });
  await clock.advance(9_000);
  gates.rejected('a', 'still no');
  await clock.advance(2_000);
  assert.equal(open, false);
  await clock.advance(8_000);
  assert.equal(open, true);
});

test('a gate that closed lets one batch through per pause, a probe, until something of the type succeeds', async () => {
  const { clock, gates } = world();
  assert.equal(gates.enter('a', forever), 'open');
  for (let n = 1; n < FAILURES_IN_A_ROW; n++) assert.equal(gates.failed('a'), false);
  assert.equal(gates.enter('a', forever), 'open');
  assert.equal(gates.failed('a'), true, 'from now on a failure says nothing about the content');
  assert.equal(gates.enter('a', forever), undefined);
  await clock.advance(10_000);
  assert.deepEqual([gates.enter('a', forever), gates.enter('a', forever)], ['probe', undefined]);
  await clock.advance(10_000);
  assert.deepEqual([gates.enter('a', forever), gates.enter('b', forever)], ['probe', 'open']);
  gates.succeeded('a');
  assert.deepEqual([gates.enter('a', forever), gates.enter('a', forever)], ['open', 'open']);
});

test('a create that the service takes opens a gate that it had refused, but not one whose batches fail', () => {
  const { gates } = world();
  gates.rejected('a', 'no');
  gates.accepted('a');
  assert.equal(gates.enter('a', forever), 'open');
  for (let n = 0; n < FAILURES_IN_A_ROW; n++) gates.failed('b');
  gates.accepted('b');
  assert.equal(gates.enter('b', forever), undefined);
});

test('a probe that is lost with its shard before the service answered is given back: the next batch asks at once', async () => {
  const { clock, gates, heldMs } = world();
  gates.rejected('a', 'no');
  assert.equal(await heldMs('a'), 10_000);
  const lost = new AbortController();
  assert.equal(gates.enter('a', lost.signal), 'probe');
  let next: GatePass | undefined;
  void gates.pass('a', forever).then((pass) => {
    next = pass;
  });
  lost.abort();
  await clock.advance(1);
  assert.equal(next, 'probe');
});

test('a probe that was answered is not given back when its shard is lost later', async () => {
  const { gates, heldMs } = world();
  gates.rejected('a', 'no');
  await heldMs('a');
  const lost = new AbortController();
  assert.equal(gates.enter('a', lost.signal), 'probe');
  gates.rejected('a', 'no');
  lost.abort();
  gates.returned('a', lost.signal);
  assert.equal(await heldMs('a'), 10_000);
});

test('who waits at a gate passes it in the order of coming, and a probe that failed comes last', async () => {
  const { clock, gates } = world();
  for (let n = 0; n < FAILURES_IN_A_ROW; n++) gates.failed('a');
  const probes: string[] = [];
  const wait = async (name: string): Promise<void> => {
    assert.equal(await gates.pass('a', new AbortController().signal), 'probe');
    probes.push(name);
    await clock.sleep(1_000, new AbortController().signal);
    gates.failed('a');
    return wait(name);
  };
  for (const name of ['x', 'y', 'z']) void wait(name);
  await clock.advance(60_000);
  assert.deepEqual(probes.slice(0, 5), ['x', 'y', 'z', 'x', 'y']);
});

test('fewer failures in a row may be enough, and the gate stays closed for creates that the service takes', () => {
  const { gates } = world();
  assert.equal(gates.failed('a', 2), false);
  assert.equal(gates.failed('a', 2), true);
  gates.accepted('a');
  assert.equal(gates.enter('a', new AbortController().signal), undefined);
});

test('a pause lasts as long as it should, though the wall clock is set back meanwhile', async () => {
  const { clock, gates, heldMs } = world();
  gates.rejected('a', 'no');
  clock.correct(-3_600_000);
  assert.equal(await heldMs('a'), 10_000);
  assert.deepEqual(
    [...gates.held()].map(({ nextTryMs }) => nextTryMs),
    [clock.now()],
  );
});

test('a type that keeps failing is logged once per pause, however many of its batches were under way', async () => {
  const { clock, gates, logger } = world();
  for (let n = 0; n < 3 * FAILURES_IN_A_ROW; n++) gates.failed('a');
  assert.equal(logger.lines.length, 1);
  await clock.advance(10_000);
  gates.failed('a');
  assert.equal(logger.lines.length, 2);
});

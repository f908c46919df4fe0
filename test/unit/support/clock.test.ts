import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SeededRandom, VirtualClock } from '../../support/memory/clock.ts';
import { VirtualProcess } from '../../support/memory/process.ts';
import { roundTrip } from '../../support/memory/scheduler.ts';

test('timers fire by time, and by the order they were set within one instant', async () => {
  const clock = new VirtualClock({ startMs: 1_000 });
  const fired: string[] = [];
  clock.after(20, () => fired.push(`late at ${clock.now()}`));
  clock.after(10, () => fired.push('a'));
  clock.after(10, () => fired.push('b'));
  const cancel = clock.after(10, () => fired.push('cancelled'));
  cancel();
  cancel();
  await clock.advance(15);
  assert.deepEqual(fired, ['a', 'b']);
  await clock.advance(5);
  assert.deepEqual(fired, ['a', 'b', 'late at 1020']);
  assert.equal(clock.now(), 1_020);
});

test('time has whole milliseconds, and a timer never fires early', async () => {
  const clock = new VirtualClock({ startMs: 0 });
  const fired: number[] = [];
  clock.after(0.2, () => fired.push(clock.now()));
  clock.after(-5, () => fired.push(clock.now()));
  await clock.advance(1);
  assert.deepEqual(fired, [0, 1]);
  assert.throws(() => clock.after(Number.NaN, () => {}), RangeError);
});

test('promise chains and event loop turns settle before time moves on', async () => {
  const clock = new VirtualClock();
  const seen: string[] = [];
  const work = async () => {
    for (let i = 0; i < 50; i++) await Promise.resolve();
    for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
    seen.push('first');
  };
  clock.after(1, () => void work());
  clock.after(2, () => seen.push('second'));
  await clock.advance(2);
  assert.deepEqual(seen, ['first', 'second']);
});

test('runUntil stops at the condition, and says when it can never hold or takes too long', async () => {
  const clock = new VirtualClock();
  let done = false;
  clock.after(50, () => {
    done = true;
  });
  clock.after(60, () => assert.fail('too far'));
  await clock.runUntil(() => done, 100);
  assert.equal(clock.now() - new VirtualClock().now(), 50);
  const idle = new VirtualClock();
  await assert.rejects(
    idle.runUntil(() => false, 100),
    /nothing is left to happen/,
  );
  idle.after(500, () => {});
  await assert.rejects(
    idle.runUntil(() => false, 100),
    /within 100 ms/,
  );
});

test('an error in a step ends the run that drove it', async () => {
  const clock = new VirtualClock();
  clock.defer('a', () => {
    throw new Error('broken step');
  });
  await assert.rejects(clock.settle(), /broken step/);
  await clock.settle();
});

test('steps of one channel keep their order under any choice and latency; the same seed gives the same run', async () => {
  const run = async (seed: number) => {
    const random = new SeededRandom(seed);
    const clock = new VirtualClock({
      choose: (channels) => random.below(channels.length),
      latencyMs: () => random.below(20),
    });
    const trace: string[] = [];
    for (let i = 0; i < 30; i++)
      clock.defer(`channel ${i % 3}`, () => trace.push(`${i % 3}:${String(i).padStart(2, '0')}`));
    await clock.advance(1_000);
    return trace;
  };
  const one = await run(7);
  assert.deepEqual(await run(7), one);
  assert.notDeepEqual(await run(8), one);
  for (const channel of ['0', '1', '2']) {
    const mine = one.filter((step) => step.startsWith(channel));
    assert.equal(mine.length, 10);
    assert.deepEqual(mine, mine.toSorted());
  }
});

test('sleep ends with its time, or with the reason of the signal', async () => {
  const clock = new VirtualClock();
  const stop = new AbortController();
  const slept = clock.sleep(10).then(() => clock.now());
  const broken = assert.rejects(clock.sleep(1_000, stop.signal), /enough/);
  await clock.advance(10);
  stop.abort(new Error('enough'));
  await broken;
  await assert.rejects(clock.sleep(1, stop.signal), /enough/);
  assert.equal(await slept, clock.now());
});

test('a frozen process hears nothing until it is thawed, then everything in order', async () => {
  const world = new VirtualClock();
  const process = new VirtualProcess('a', world);
  const heard: string[] = [];
  process.after(10, () => heard.push('timer'));
  const cancel = process.after(20, () => heard.push('cancelled'));
  void roundTrip(world, process, 'call', () => 'answer').then((answer) => heard.push(answer));
  process.freeze();
  await world.advance(100);
  assert.equal(heard.length, 0);
  cancel();
  process.thaw();
  process.defer('call', () => heard.push('new'));
  await world.settle();
  assert.deepEqual(heard, ['answer', 'timer', 'new']);
});

test('what a killed process had sent is applied, and its answer reaches nobody', async () => {
  const world = new VirtualClock();
  const process = new VirtualProcess('a', world);
  let applied = 0;
  void roundTrip(world, process, 'call', () => ++applied).then(() =>
    assert.fail('the dead hear nothing'),
  );
  process.after(5, () => assert.fail('the dead do nothing'));
  process.kill();
  process.thaw();
  await world.advance(10);
  assert.equal(applied, 1);
});

test('seeded chance repeats, its ids are unique', () => {
  const [a, b] = [new SeededRandom(3), new SeededRandom(3)];
  const numbers = Array.from({ length: 1_000 }, () => a.next());
  assert.deepEqual(
    Array.from({ length: 1_000 }, () => b.next()),
    numbers,
  );
  assert.ok(numbers.every((n) => n >= 0 && n < 1));
  assert.ok(Math.abs(numbers.reduce((sum, n) => sum + n, 0) / 1_000 - 0.5) < 0.05);
  assert.notEqual(a.id(), a.id());
});

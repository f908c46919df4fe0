import assert from 'node:assert/strict';
import { test } from 'node:test';
import { INTAKE_SHARE } from '../../../../src/core/batch-buffer.ts';
import type { Lease } from '../../../../src/core/ports/memory.ts';
import { Lane } from '../../../../src/pipeline/limits/lanes.ts';
import { MemoryBudget } from '../../../../src/pipeline/limits/memory-budget.ts';

const forever = new AbortController().signal;

/** Returns true if a promise has settled. All work here resolves in microtasks. */
async function settled(work: Promise<unknown>): Promise<boolean> {
  const turn = new Promise((resolve) => setImmediate(() => resolve('pending')));
  const outcome = work.then(
    () => 'settled',
    () => 'settled',
  );
  return (await Promise.race([outcome, turn])) === 'settled';
}

const end = (lease: Lease) => lease[Symbol.dispose]();

/** Open batches that keep their memory after they are sealed. */
class Batches {
  readonly sealed: Lease[] = [];

  constructor(budget: MemoryBudget, bytes: readonly number[]) {
    for (const one of bytes) {
      const lease = budget.lease('intake', one, () => {
        lease.seal();
        this.sealed.push(lease);
      });
    }
  }

  get bytes(): number[] {
    return this.sealed.map(({ bytes }) => bytes);
  }
}

test('intake is full exactly at its share of the budget', () => {
  const budget = new MemoryBudget(1000);
  const batches = budget.lease('intake', 1000 * INTAKE_SHARE - 1);
  assert.equal(budget.intakeFull, false);
  batches.resize(1000 * INTAKE_SHARE);
  assert.equal(budget.intakeFull, true);
  batches.resize(1000 * INTAKE_SHARE - 1);
  assert.equal(budget.intakeFull, false);
});

test('idle buffers use at most an eighth of the budget, and count against intake', () => {
  const budget = new MemoryBudget(1024 * 1024);
  const { pool } = budget;
  const buffers = Array.from({ length: 4 }, () => pool.take(64 * 1024));
  assert.deepEqual([pool.lentBytes, pool.idleBytes], [256 * 1024, 0]);
  for (const buffer of buffers) pool.give(buffer);
  assert.deepEqual([pool.lentBytes, pool.idleBytes], [0, 128 * 1024]);
  budget.lease('intake', 1024 * 1024 * INTAKE_SHARE - 128 * 1024);
  assert.equal(budget.intakeFull, true);
  const again = pool.take(40_000);
  assert.equal(budget.intakeFull, false);
  assert.ok(buffers.includes(again));
  pool.drop(again);
  assert.deepEqual([pool.lentBytes, pool.idleBytes], [0, 64 * 1024]);
});

test('intake without room seals the largest batch of any shard, and continues after its upload', async () => {
  const budget = new MemoryBudget(1000);
  const batches = new Batches(budget, [100, 300, 150, 200]);
  const room = budget.reserve('intake', 50, forever);
  assert.equal(await settled(room), false);
  assert.deepEqual(batches.bytes, [300]);
  end(batches.sealed[0] as Lease);
  await room;
  assert.equal(budget.usedBytes, 500);
});

test('no more batches are sealed while sealed batches use more than half of the share', () => {
  const budget = new MemoryBudget(1000);
  const batches = new Batches(budget, [380, 400]);
  void budget.reserve('intake', 1, forever);
  assert.deepEqual(batches.bytes, [400]);
  const [sealed] = batches.sealed as [Lease];
  sealed.resize(360);
  assert.deepEqual(batches.bytes, [360]);
  sealed.resize(340);
  assert.deepEqual(batches.bytes, [340, 380]);
});

test('work is granted in order: small reservations do not starve a large one, and an aborted reservation blocks no other', async () => {
  const budget = new MemoryBudget(100);
  const first = await budget.reserve('work', 50, forever);
  const order: string[] = [];
  const ask = async (who: string, bytes: number, signal = forever) => {
    const lease = await budget.reserve('work', bytes, signal);
    order.push(who);
    return lease;
  };
  const abort = new AbortController();
  const [large, given, small] = [
    ask('large', 90),
    ask('given up', 1, abort.signal),
    ask('small', 20),
  ];
  assert.equal(await settled(small), false);
  abort.abort(new Error('given up'));
  await assert.rejects(given, /given up/);
  end(first);
  end(await large);
  await small;
  assert.deepEqual(order, ['large', 'small']);
});

test('rereads are limited to their share except for one run of any size, and do not stop intake', async () => {
  const budget = new MemoryBudget(1000);
  assert.equal(budget.rereadBytes, 150);
  const first = await budget.reserve('reread', 5_000, forever);
  assert.equal(budget.intakeFull, false);
  const second = budget.reserve('reread', 100, forever);
  assert.equal(await settled(second), false, 'the first run is still being read');
  first.resize(60);
  assert.equal(await settled(second), false, 'the body of the first run is still being uploaded');
  const work = await budget.reserve('work', 200, forever);
  first.resize(50);
  assert.equal((await second).bytes, 100);
  assert.equal(budget.usedBytes, 350);
  end(work);
});

test('a run that waits for work to end is not starved by later work', async () => {
  const budget = new MemoryBudget(1000);
  const work = await budget.reserve('work', 900, forever);
  const run = budget.reserve('reread', 150, forever);
  const later = budget.reserve('work', 50, forever);
  assert.equal(await settled(later), false, 'the later run waits although there is room for it');
  end(work);
  await Promise.all([run, later]);
});

/** Budgets of two services with the same bytes. */
function twoServices(): [MemoryBudget, MemoryBudget] {
  const first = new MemoryBudget(1000);
  return [first, new MemoryBudget(1000, first)];
}

test('a service that keeps its batches leaves a quarter of the share of intake to another service', async () => {
  const [down, well] = twoServices();
  const kept = down.lease('intake', 524);
  assert.equal(down.intakeFull, false, 'the service may use its own quarter and the common half');
  kept.resize(525);
  assert.deepEqual([down.mayTake, well.mayTake], [false, true]);
  const waiting = down.reserve('intake', 10, forever);
  const taken = await well.reserve('intake', 174, forever);
  assert.equal(well.intakeFull, false);
  taken.resize(175);
  assert.equal(well.intakeFull, true);
  assert.deepEqual([down.usedBytes, well.usedBytes], [700, 700]);
  end(taken);
  assert.equal(await settled(waiting), false, 'memory of another service is no room');
  kept.resize(524);
  await waiting;
});

test('a service may use the common half again as soon as another service has released it', async () => {
  const [first, second] = twoServices();
  const common = first.lease('intake', 525);
  const own = second.lease('intake', 175);
  const waiting = second.reserve('intake', 10, forever);
  assert.equal(await settled(waiting), false);
  common.resize(500);
  await waiting;
  own.resize(199);
  assert.equal(second.intakeFull, true, 'with the ten bytes reserved');
});

test('intake of a service without room seals only batches of this service', async () => {
  const [down, well] = twoServices();
  const kept = new Batches(down, [525]);
  const own = new Batches(well, [100, 75]);
  const room = well.reserve('intake', 10, forever);
  assert.deepEqual([kept.bytes, own.bytes], [[], [100]]);
  end(own.sealed[0] as Lease);
  await room;
});

test('lanes of a service share the memory that its intake may use', () => {
  const [down, well] = twoServices();
  const lane = new Lane('live', 0.5, 0);
  const lease = well.lease('intake', 262, undefined, lane);
  assert.equal(well.hasRoomFor(lane), true, 'half of 525 bytes');
  lease.resize(263);
  assert.equal(well.hasRoomFor(lane), false);
  down.lease('intake', 525);
  lease.resize(87);
  assert.equal(well.hasRoomFor(lane), true, 'half of 175 bytes');
  lease.resize(88);
  assert.equal(well.hasRoomFor(lane), false);
});

test('a service settles and rereads without waiting for another service', async () => {
  const [hung, well] = twoServices();
  const held = await hung.reserve('work', 990, forever);
  const run = await hung.reserve('reread', 5, forever);
  const waiting = hung.reserve('work', 50, forever);
  assert.equal(await settled(waiting), false);
  end(await well.reserve('work', 100, forever));
  end(await well.reserve('reread', 5_000, forever));
  assert.equal(await settled(waiting), false);
  for (const lease of [run, held]) end(lease);
  await waiting;
});

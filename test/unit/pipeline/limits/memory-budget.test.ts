import assert from 'node:assert/strict';
import { test } from 'node:test';
import { INTAKE_SHARE } from '../../../../src/core/batch/buffer.ts';
import {
  BatchMemory,
  MemoryBudget,
  type Sealable,
} from '../../../../src/pipeline/limits/memory-budget.ts';

const forever = new AbortController().signal;

/** True if a promise has settled by now: everything here resolves in microtasks. */
async function settled(work: Promise<unknown>): Promise<boolean> {
  const turn = new Promise((resolve) => setImmediate(() => resolve('pending')));
  const outcome = work.then(
    () => 'settled',
    () => 'settled',
  );
  return (await Promise.race([outcome, turn])) === 'settled';
}

class Buffers implements Sealable {
  bytes: number[];
  readonly #budget: MemoryBudget;
  constructor(budget: MemoryBudget, bytes: readonly number[]) {
    this.#budget = budget;
    this.bytes = [...bytes].sort((a, b) => b - a);
    for (const one of bytes) budget.buffer(one);
  }
  largestBytes(): number {
    return this.bytes[0] ?? 0;
  }
  sealLargest(): void {
    this.#budget.seal(this.bytes.shift() ?? 0);
  }
}

test('intake is full at its share of the budget, buffered and sealed together, and not a byte before', () => {
  const budget = new MemoryBudget(1000);
  budget.buffer(600);
  budget.seal(200);
  budget.buffer(1000 * INTAKE_SHARE - 601);
  assert.equal(budget.intakeFull, false);
  budget.buffer(1);
  assert.equal(budget.intakeFull, true);
  budget.unbuffer(1);
  assert.equal(budget.intakeFull, false);
});

test('buffers that wait for their next owner are an eighth of the budget at most, and count against intake until they have one', () => {
  const budget = new MemoryBudget(1024 * 1024);
  const { pool } = budget;
  const buffers = Array.from({ length: 4 }, () => pool.take(64 * 1024));
  assert.deepEqual([pool.lentBytes, pool.idleBytes], [256 * 1024, 0]);
  for (const buffer of buffers) pool.give(buffer);
  assert.deepEqual([pool.lentBytes, pool.idleBytes], [0, 128 * 1024]);
  budget.buffer(1024 * 1024 * INTAKE_SHARE - 128 * 1024);
  assert.equal(budget.intakeFull, true);
  const again = pool.take(40_000);
  assert.equal(budget.intakeFull, false);
  assert.ok(buffers.includes(again));
  pool.drop(again);
  assert.deepEqual([pool.lentBytes, pool.idleBytes], [0, 64 * 1024]);
});

test('what works on results does not stop intake, and intake that used its share leaves the rest to it', async () => {
  const budget = new MemoryBudget(1000);
  await budget.work(1000, forever);
  assert.equal(budget.intakeFull, false);
  const other = new MemoryBudget(1000);
  other.buffer(700);
  const one = await other.work(200, forever);
  await other.work(100, forever);
  const third = other.work(1, forever);
  assert.equal(await settled(third), false);
  one();
  await third;
});

test('while intake uses little, work may use what is free', async () => {
  const budget = new MemoryBudget(1000);
  budget.buffer(100);
  await budget.work(500, forever);
  await budget.work(400, forever);
  const third = budget.work(1, forever);
  assert.equal(await settled(third), false);
  budget.unbuffer(1);
  await third;
});

test('one piece of work always gets through, however large, and the next waits for it', async () => {
  const budget = new MemoryBudget(10);
  const release = await budget.work(1_000_000, forever);
  const next = budget.work(1, forever);
  assert.equal(await settled(next), false);
  release();
  await next;
  assert.equal(budget.usedBytes, 1);
});

test('work given back twice counts once', async () => {
  const budget = new MemoryBudget(100);
  const release = await budget.work(60, forever);
  await budget.work(40, forever);
  release();
  release();
  assert.equal(budget.usedBytes, 40);
});

test('everything given back leaves nothing used', async () => {
  const budget = new MemoryBudget(1000);
  budget.buffer(300);
  budget.seal(200);
  const release = await budget.work(50, forever);
  assert.equal(budget.usedBytes, 350);
  budget.unbuffer(100);
  budget.unseal(200);
  release();
  assert.equal(budget.usedBytes, 0);
});

test('intake without room seals the largest buffer of any shard, and goes on when its upload is through', async () => {
  const budget = new MemoryBudget(1000);
  const small = new Buffers(budget, [100, 150]);
  const large = new Buffers(budget, [200, 300]);
  budget.register(small);
  budget.register(large);
  const room = budget.intakeSlot(forever);
  assert.equal(await settled(room), false);
  assert.deepEqual([small.bytes, large.bytes], [[150, 100], [200]]);
  budget.unseal(300);
  await room;
  assert.equal(budget.usedBytes, 450);
});

test('room for intake is given out one at a time and in turn, and nobody passes those who wait', async () => {
  const budget = new MemoryBudget(100);
  budget.buffer(70);
  const order: string[] = [];
  const ask = async (who: string) => {
    const next = await budget.intakeSlot(forever);
    order.push(who);
    budget.buffer(10);
    return next;
  };
  const first = ask('first');
  const second = ask('second');
  const third = ask('third');
  budget.unbuffer(20);
  assert.equal(budget.mayTake, false);
  const letSecondIn = await first;
  assert.equal(await settled(second), false, 'although there is room');
  letSecondIn();
  const letThirdIn = await second;
  letThirdIn();
  assert.equal(await settled(third), false, 'there is no room');
  budget.unbuffer(1);
  (await third)();
  assert.deepEqual(order, ['first', 'second', 'third']);
  budget.unbuffer(20);
  assert.equal(budget.mayTake, true);
});

test('who gives up waiting for room lets the next in', async () => {
  const budget = new MemoryBudget(100);
  budget.buffer(70);
  const abort = new AbortController();
  const first = budget.intakeSlot(abort.signal);
  const second = budget.intakeSlot(forever);
  abort.abort(new Error('given up'));
  await assert.rejects(first);
  budget.unbuffer(1);
  (await second)();
  assert.equal(budget.mayTake, true);
});

test('nothing more is sealed while half of the share is on its way out already', () => {
  const budget = new MemoryBudget(1000);
  const buffers = new Buffers(budget, [200, 400]);
  budget.register(buffers);
  budget.relieve();
  assert.deepEqual(buffers.bytes, [200]);
  budget.relieve();
  assert.deepEqual(buffers.bytes, [200]);
  budget.unseal(100);
  budget.relieve();
  assert.deepEqual(buffers.bytes, []);
});

test('a buffer that was given up is not asked again', () => {
  const budget = new MemoryBudget(1000);
  const buffers = new Buffers(budget, [400]);
  budget.register(buffers)();
  budget.relieve();
  assert.deepEqual(buffers.bytes, [400]);
});

test('who waits for memory hears of an abort at once, and leaves no waiter behind', async () => {
  const budget = new MemoryBudget(100);
  budget.buffer(100);
  const hold = await budget.work(100, forever);
  const abort = new AbortController();
  const waiting = [budget.intakeSlot(abort.signal), budget.work(100, abort.signal)];
  const reason = new Error('given up');
  abort.abort(reason);
  for (const one of waiting) await assert.rejects(one, reason);
  await assert.rejects(budget.work(1, abort.signal), reason);
  hold();
  assert.equal(budget.usedBytes, 100);
});

test('work that is let through after its owner gave up takes nothing', async () => {
  const budget = new MemoryBudget(100);
  const reason = new Error('over');
  await assert.rejects(budget.work(10, AbortSignal.abort(reason)), reason);
  assert.equal(budget.usedBytes, 0);
});

test('work is given out in turn: small pieces do not keep a large one waiting for ever', async () => {
  const budget = new MemoryBudget(100);
  const first = await budget.work(50, forever);
  const order: string[] = [];
  const large = budget.work(90, forever).then((release) => {
    order.push('large');
    release();
  });
  const small = budget.work(1, forever).then(() => order.push('small'));
  assert.equal(await settled(small), false);
  first();
  await Promise.all([large, small]);
  assert.deepEqual(order, ['large', 'small']);
});

test('who gives up while waiting for work does not stop those behind', async () => {
  const budget = new MemoryBudget(100);
  await budget.work(60, forever);
  const abort = new AbortController();
  const large = budget.work(90, abort.signal);
  const small = budget.work(1, forever);
  abort.abort(new Error('given up'));
  await assert.rejects(large, /given up/);
  await small;
  assert.equal(budget.usedBytes, 61);
});

test('bodies of records that were read again do not stop intake, and take their place from work', async () => {
  const budget = new MemoryBudget(100);
  const body = new BatchMemory((change) => budget.adopt(change), 0);
  budget.buffer(70);
  body.resize(20);
  assert.deepEqual([budget.intakeFull, budget.usedBytes], [true, 90]);
  await budget.work(10, forever);
  const second = budget.work(1, forever);
  assert.equal(await settled(second), false);
  body.release();
  body.release();
  await second;
  assert.equal(budget.usedBytes, 81);
  const idle = new MemoryBudget(100);
  idle.adopt(99);
  assert.equal(idle.intakeFull, false);
});

test('records are read again only while there is room beside the bodies of those read before; one pass always gets through', async () => {
  const budget = new MemoryBudget(1000);
  assert.equal(budget.rereadBytes, 150);
  const over = await budget.reread(5_000, forever);
  const second = budget.reread(100, forever);
  assert.equal(await settled(second), false, 'the one before is still being read');
  budget.adopt(60);
  over();
  assert.equal(await settled(second), false, 'its body is still on its way');
  const work = await budget.work(200, forever);
  budget.adopt(-10);
  const secondOver = await second;
  assert.equal(budget.usedBytes, 350);
  const abort = new AbortController();
  const third = budget.reread(1, abort.signal);
  const fourth = budget.reread(2, forever);
  abort.abort(new Error('lost'));
  await assert.rejects(third, /lost/);
  assert.equal(await settled(fourth), false);
  secondOver();
  (await fourth)();
  work();
  budget.adopt(-50);
  assert.equal(budget.usedBytes, 0);
});

test('a pass that is given up while it waits for work leaves nothing reserved', async () => {
  const budget = new MemoryBudget(1000);
  const work = await budget.work(1000, forever);
  const abort = new AbortController();
  const first = budget.reread(150, abort.signal);
  assert.equal(await settled(first), false);
  abort.abort(new Error('lost'));
  await assert.rejects(first, /lost/);
  work();
  (await budget.reread(150, forever))();
  assert.equal(budget.usedBytes, 0);
});

test('who waits for room goes on when sealing alone makes it', async () => {
  const budget = new MemoryBudget(100);
  budget.buffer(70);
  // A worker that is over takes nothing: what it sealed is given back at once.
  budget.register({
    largestBytes: () => 70,
    sealLargest: () => {
      budget.seal(70);
      budget.unseal(70);
    },
  });
  (await budget.intakeSlot(forever))();
  assert.equal(budget.usedBytes, 0);
});

test('who gives up in the queue hears of it at once, and nobody behind overtakes who is before', async () => {
  const budget = new MemoryBudget(1000);
  const letGo = await budget.work(1000, forever);
  const abort = new AbortController();
  const order: string[] = [];
  const large = budget.work(900, forever).then((release) => {
    order.push('large');
    release();
  });
  const reason = new Error('given up');
  const second = budget.work(10, abort.signal);
  const third = budget.work(10, forever).then(() => order.push('third'));
  abort.abort(reason);
  await assert.rejects(second, reason);
  assert.deepEqual(order, []);
  letGo();
  await Promise.all([large, third]);
  assert.deepEqual(order, ['large', 'third']);
});

test('fractions of bytes leave nothing behind', async () => {
  const budget = new MemoryBudget(1000);
  const pieces = await Promise.all([0.1, 0.2, 33.3].map((bytes) => budget.work(bytes, forever)));
  for (const release of pieces) release();
  assert.equal(budget.usedBytes, 0);
});

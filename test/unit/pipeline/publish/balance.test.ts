/** The balance of a pipeline: consumed + recovered = decided + dead-lettered + skipped + released + in flight. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { watchOldest } from '../../../support/engine/oldest-watch.ts';
import { type Instance, World } from '../../../support/engine/world.ts';
import { SeededRandom } from '../../../support/memory/clock.ts';
import type { CommitFate } from '../../../support/memory/kafka/kafka.ts';
import { sourceValue } from '../../../support/memory/service/scripted-kind.ts';

const INS = ['events_consumed_total', 'items_recovered_total'];
const OUTS = [
  'decisions_total',
  'dead_lettered_total',
  'events_skipped_total',
  'items_released_total',
];

function assertEven(instance: Instance, when: string): void {
  const { metrics, process } = instance;
  const sum = (names: readonly string[]) =>
    names.reduce((total, name) => total + metrics.counter(name), 0);
  const inFlight = instance.gauge('items_in_flight') ?? 0;
  assert.equal(instance.gauge('balance_items') ?? 0, 0, `balance of ${process.name} ${when}`);
  // The counters tell the same when the gauges are fresh: nothing runs between a report and the end of its second.
  if (instance.gauge('balance_items') !== undefined && inFlight === 0 && sum(INS) === sum(OUTS))
    return;
  assert.ok(sum(INS) - sum(OUTS) >= 0, `${process.name} ended more than came in ${when}`);
}

for (const seed of [1, 2, 3, 4]) {
  test(`the balance is even at every second of a chaotic run, and the oldest event is told (${seed})`, async () => {
    const random = new SeededRandom(seed);
    let faulty = true;
    const told: (number | undefined)[] = [];
    const strikes = (probability: number) => faulty && random.next() < probability;
    const fates: readonly CommitFate[] = ['fenced', 'aborted', 'reply-lost', 'lost', 'unsent'];
    const world = new World({
      seed,
      shuffle: true,
      wrap: watchOldest(told),
      partitions: 4,
      budgetBytes: 60_000,
      options: {
        chunk: { maxBytes: 10_000 },
        review: { uploadGraceMs: 20_000, pauseMs: 5_000 },
      },
      hooks: {
        commitFate: () =>
          strikes(0.04) ? (fates[random.below(fates.length)] as CommitFate) : 'commit',
      },
      service: {
        arrivalMs: () => (strikes(0.05) ? 'never' : random.below(500)),
        fault: () =>
          strikes(0.05) ? { failure: 'unavailable', after: random.next() < 0.5 } : undefined,
        review: () => {
          if (strikes(0.1)) return { state: 'failed', afterMs: 500 };
          return {
            afterMs: random.below(4_000),
            results: (rows) => rows.filter(() => !strikes(0.05)),
          };
        },
      },
    });
    world.start();
    let skipped = 0;
    for (let second = 0; second < 90; second++) {
      world.produce(random.below(8), { poisonEvery: 9 });
      if (random.next() < 0.3) {
        world.put(random.below(4), sourceValue({ type: 'a', content: 'x', skip: true }));
        skipped++;
      }
      if (strikes(0.05)) world.start();
      const running = world.instances.filter(({ process }) => process.state === 'running');
      if (strikes(0.04) && running.length > 1)
        await world.through((running[random.below(running.length)] as Instance).stop());
      await world.clock.advance(1_000);
      for (const instance of world.instances) assertEven(instance, `after ${second} s`);
    }
    faulty = false;
    world.start();
    const settled = () => world.published('decisions').length + world.published('dead').length;
    await world.clock.runUntil(
      () => settled() === world.produced && world.liveJobs().length === 0,
      30 * 60_000,
    );
    await world.clock.advance(2_000);
    assert.ok(skipped > 5);
    assert.ok(told.length > 90 && told.includes(undefined) && told.some((ms) => ms !== undefined));
    for (const instance of world.instances) {
      assertEven(instance, 'at the end');
      assert.equal(instance.gauge('items_in_flight') ?? 0, 0);
    }
  });
}

test('a shard that is released while a transaction is in hand counts its records once, whichever way the transaction ends', async () => {
  for (const fate of ['commit', 'reply-lost', 'aborted', 'fenced'] as const) {
    let inHand = false;
    const world = new World({
      partitions: 1,
      wrap: watchOldest(),
      hooks: {
        commitFate: ({ transaction }) => {
          if (transaction.outputs === undefined) return 'commit';
          inHand = true;
          return fate;
        },
      },
    });
    const instance = world.start();
    world.produce(5, { types: ['a'] });
    await world.clock.runUntil(() => inHand, 60_000);
    await world.through(instance.stop());
    await world.clock.advance(2_000);
    assert.equal(instance.gauge('balance_items'), 0, fate);
    const { metrics } = instance;
    assert.equal(
      metrics.counter('decisions_total') + metrics.counter('items_released_total'),
      5,
      fate,
    );
  }
});

test('the balance stays even while a shard that was given up has its last transaction in hand', async () => {
  let slow = 0;
  const world = new World({
    partitions: 2,
    wrap: watchOldest(),
    hooks: {
      beforeCommit: ({ transaction }) => {
        if (transaction.outputs === undefined) return undefined;
        slow++;
        return world.clock.sleep(5_000);
      },
    },
  });
  const instance = world.start();
  world.produce(10, { types: ['a'] });
  await world.clock.runUntil(() => slow === 2, 60_000);
  world.start();
  for (let second = 0; second < 8; second++) {
    await world.clock.advance(1_000);
    for (const one of world.instances) assertEven(one, `after ${second} s`);
  }
  assert.ok(instance.metrics.counter('rebalances_total') >= 2);
  await world.clock.runUntil(() => world.published('decisions').length === 10, 60_000);
});

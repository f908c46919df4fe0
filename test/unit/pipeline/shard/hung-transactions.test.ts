/** I8: a transaction without a response is detected at every stage of its worker. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Health } from '../../../../src/telemetry/health.ts';
import { World } from '../../../support/engine/world.ts';

/** Returns a world with the real health, in which commit number `hangs` of a producer never gets a response. */
function hanging(hangs: number, transactionTimeoutMs = 60_000) {
  let health: Health | undefined;
  let hung = false;
  const world = new World({
    options: { kafka: { transactionTimeoutMs } },
    hooks: {
      commitFate: ({ number }) => {
        if (hung || number !== hangs) return 'commit';
        hung = true;
        return 'silent';
      },
    },
    wrap: (ports) => {
      health = new Health(() => ports.clock.now());
      return { ...ports, health };
    },
  });
  const instance = world.start();
  world.produce(10);
  return { world, instance, isLive: () => health?.liveness().ok === true };
}

for (const [when, hangs] of [
  ['a claim', 1],
  ['an owner', 3],
] as const) {
  test(`a transaction of ${when} without a response makes the process not live, but only after minutes`, async () => {
    const { world, isLive } = hanging(hangs);
    await world.clock.advance(180_000);
    assert.ok(isLive(), 'a transaction may take minutes');
    await world.clock.advance(120_000);
    assert.ok(!isLive());
  });
}

test('a transaction of an owner that has lost its shard makes the process not live, too, because it blocks other owners', async () => {
  const { world, instance, isLive } = hanging(3);
  await world.clock.advance(10_000);
  world.kafka.cluster.addPartitions('content', 4);
  await world.clock.advance(60_000);
  assert.ok(isLive());
  assert.match(
    instance.logger.text(),
    /reading source partition .*"partition":3/,
    'the shard was claimed again',
  );
  await world.clock.advance(250_000);
  assert.ok(!isLive());
});

test('the process stays live while a transaction takes less than twice kafka.transactionTimeout', async () => {
  const minutes = 15;
  const { world, isLive } = hanging(3, minutes * 60_000);
  await world.clock.advance(2 * minutes * 60_000);
  assert.ok(isLive(), 'within twice the timeout');
  await world.clock.advance(120_000);
  assert.ok(!isLive());
});

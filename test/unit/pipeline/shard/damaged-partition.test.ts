/** One partition that cannot be read, or has no leader, beside others of the same shard. Over the whole engine in memory. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TOPICS, World, type WorldSettings } from '../../../support/engine/world.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const ERROR = 'CORRUPT_MESSAGE: this message has failed its CRC checksum';

type Operation = 'fetch' | 'read' | 'ranges';

/** Three partitions in one shard; the operations of `damaged` fail for partition 0 of the source. */
function damagedWorld(settings: WorldSettings = {}) {
  const damaged = new Set<Operation>();
  const world = new World({
    partitions: 3,
    ...settings,
    options: { journal: { partitions: 1 }, ...settings.options },
    hooks: {
      partitionFailure: (operation, topic, partition) =>
        topic === TOPICS.source && partition === 0 && damaged.has(operation) ? ERROR : undefined,
    },
  });
  return { world, damaged };
}

const settledIn = (world: World, partition: number): number =>
  world.kafka.cluster.committedOffset(TOPICS.group, TOPICS.source, partition).offset ?? 0;
const settled = (world: World): number[] =>
  [0, 1, 2].map((partition) => settledIn(world, partition));

test('a partition that cannot be read is named in readiness, gauge and log, and the others go on', async () => {
  const { world, damaged } = damagedWorld();
  const instance = world.start();
  world.produce(30);
  await world.untilSettled(MINUTE);
  const [, ready] = [damaged.add('fetch'), () => instance.health.conditions.get('reviews/shards')];
  world.produce(30);
  await world.clock.advance(MINUTE);
  assert.deepEqual(settled(world), [10, 20, 20]);
  assert.match(
    ready() ?? '',
    /^partition 0 of content cannot be read at offset 10: CORRUPT_MESSAGE: /,
  );
  assert.equal(instance.gauge('shards_paused', { reason: 'kafka' }), 1);
  assert.match(instance.logger.text(), /pipeline stalled.*partition 0 of content/s);
  assert.deepEqual(
    [
      instance.metrics.counter('claims_total', { outcome: 'owned' }),
      instance.metrics.counter('rebalances_total'),
    ],
    [1, 1],
    'the shard was never lost',
  );
  damaged.clear();
  await world.untilSettled(MINUTE);
  await world.clock.advance(10 * SECOND);
  assert.deepEqual([ready(), instance.gauge('shards_paused', { reason: 'kafka' })], [undefined, 0]);
  world.assertExactlyOnce();
});

test('a shard is claimed although one of its partitions has no leader', async () => {
  const { world, damaged } = damagedWorld();
  const first = world.start();
  world.produce(30);
  await world.untilSettled(MINUTE);
  await world.through(first.stop());
  for (const operation of ['fetch', 'read', 'ranges'] as const) damaged.add(operation);
  world.produce(30);
  const second = world.start();
  await world.clock.advance(MINUTE);
  assert.equal(second.gauge('shards_owned'), 1);
  assert.deepEqual(settled(world), [10, 20, 20]);
  damaged.clear();
  await world.untilSettled(MINUTE);
  world.assertExactlyOnce();
});

test('an offset that was reset is kept until the partition can be seen again', async () => {
  const { world, damaged } = damagedWorld();
  const first = world.start();
  world.produce(30);
  await world.untilSettled(MINUTE);
  await world.through(first.stop());
  world.kafka.cluster.commitOffset(TOPICS.group, TOPICS.source, 0, 4, '');
  for (const operation of ['fetch', 'read', 'ranges'] as const) damaged.add(operation);
  world.produce(30);
  world.start();
  await world.clock.advance(MINUTE);
  assert.deepEqual(settled(world), [4, 20, 20]);
  damaged.clear();
  await world.clock.advance(MINUTE);
  assert.equal(settledIn(world, 0), 20);
});

test('records of a partition that cannot be read again keep neither the shard nor the rereads of others', async () => {
  const { world, damaged } = damagedWorld({
    options: { batch: { maxRows: 1 } },
    service: {
      review: ({ id }) => (Number(id.slice(6)) <= 3 ? { state: 'failed' } : {}),
    },
  });
  const instance = world.start();
  damaged.add('read');
  for (const partition of [0, 1, 2]) world.event(partition);
  await world.clock.advance(2 * MINUTE);
  assert.equal(world.verdict().settled, 2);
  assert.equal(instance.gauge('shards_paused', { reason: 'kafka' }), 1);
  assert.equal(instance.metrics.counter('claims_total', { outcome: 'owned' }), 1);
  assert.equal(instance.budget.pool.lentBytes, 0, 'nothing is held meanwhile');
  damaged.clear();
  await world.untilSettled(MINUTE);
  world.assertExactlyOnce();
});

/**
 * A partition that is unreadable or has no leader, next to other partitions of its shard. Tested with the whole
 * engine in memory.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TOPICS, World, type WorldSettings } from '../../../support/engine/world.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const ERROR = 'CORRUPT_MESSAGE: this message has failed its CRC checksum';

type Operation = 'fetch' | 'read' | 'ranges';

/** Returns three partitions in one shard. Operations in `damaged` fail for partition 0 of the source. */
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

test('a partition that cannot be read appears in readiness, gauge and log, and other partitions continue', async () => {
  const { world, damaged } = damagedWorld();
  const instance = world.start();
  world.produce(30);
  await world.untilSettled(MINUTE);
  const [, ready] = [damaged.add('fetch'), () => instance.health.conditions.get('reviews/kafka')];
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

test('the first claim of a shard succeeds only when all of its partitions have leaders', async () => {
  const { world, damaged } = damagedWorld();
  for (const operation of ['fetch', 'read', 'ranges'] as const) damaged.add(operation);
  world.produce(30);
  const instance = world.start();
  await world.clock.advance(MINUTE);
  assert.match(
    instance.health.conditions.get('reviews/kafka') ?? '',
    /shard 0 cannot be claimed \(\d+ times\): ShardLostError: partition 0 of content is unavailable/,
  );
  damaged.clear();
  await world.untilSettled(MINUTE);
  await world.clock.advance(15 * SECOND);
  assert.equal(instance.health.conditions.get('reviews/kafka'), undefined);
  world.assertExactlyOnce();
});

test('a reset offset is kept until the partition is readable again', async () => {
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
  assert.deepEqual(settled(world), [4, 10, 10]);
  damaged.clear();
  await world.clock.advance(MINUTE);
  assert.deepEqual(settled(world), [20, 20, 20]);
});

test('records of an unreadable partition block neither the shard nor rereads of other partitions', async () => {
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
  assert.equal(instance.budget.pool.lentBytes, 0, 'no buffer is used meanwhile');
  damaged.clear();
  await world.untilSettled(MINUTE);
  world.assertExactlyOnce();
});

test('dead letters that require an unreadable partition wait without blocking the shard', async () => {
  const { world, damaged } = damagedWorld({
    options: { batch: { maxRows: 1 }, review: { attempts: 1, onFailure: 'dead-letter' } },
    service: { review: ({ id }) => (id === 'batch-1' ? { state: 'failed' } : {}) },
  });
  const instance = world.start();
  damaged.add('read');
  world.event(0);
  await world.clock.advance(30 * SECOND);
  for (const partition of [1, 2]) world.event(partition);
  await world.clock.advance(MINUTE);
  assert.equal(world.verdict().settled, 2);
  assert.equal(instance.metrics.counter('claims_total', { outcome: 'owned' }), 1);
  damaged.clear();
  await world.untilSettled(MINUTE);
  assert.equal(world.verdict().settled, 3);
});

/** Batches that kafkajs delivers although they were fetched before a seek or a pause. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import type { FetchedBatch, ShardGroup } from '../../../src/core/ports/kafka.ts';
import { realWorld } from '../../conformance/kafka-real.ts';
import { numbered, RecordingListener, readSourceFrom } from '../../conformance/kafka-world.ts';
import { testKafka } from '../../support/kafka/kafka.ts';

const kafka = await testKafka();

/** Two partitions come with one fetch; `react` runs inside the callback of the first and is told of the second. */
async function twoInOneFetch(react: (group: ShardGroup, other: number) => void) {
  const world = await realWorld(kafka, { sourcePartitions: 2, shards: 1 });
  after(() => world.close());
  for (const partition of [0, 1])
    await world.produce(world.topics.source, partition, numbered(0, 4));
  const group = world.group();
  const listener = new RecordingListener();
  readSourceFrom(group, listener, 0);
  let first: FetchedBatch | undefined;
  listener.onFetched = (batch) => {
    if (first !== undefined) return;
    first = batch;
    react(group, 1 - batch.partition);
  };
  await world.settle(group.start(listener));
  await world.until('the first batch is there', () => first !== undefined);
  assert.ok(first);
  return { world, group, listener, other: 1 - first.partition };
}

describe('a batch fetched before its partition was', () => {
  it('sought is dropped, and the partition read from where it was sought', async () => {
    const { world, listener, other } = await twoInOneFetch((group, partition) =>
      group.seek('source', partition, 2),
    );
    await world.until(
      'the other partition is read',
      () => listener.records('source', other).length > 0,
    );
    await world.produce(world.topics.source, other, numbered(4, 1));
    await world.until('all of it is read', () => listener.values('source', other).includes('v4'));
    assert.deepEqual(listener.values('source', other), ['v2', 'v3', 'v4']);
  });

  it('paused is dropped, and comes again when it is resumed', async () => {
    const { world, group, listener, other } = await twoInOneFetch((one, partition) =>
      one.pause('source', partition),
    );
    await world.settle(group.confirmMembership(new AbortController().signal));
    await world.produce(world.topics.source, 1 - other, numbered(4, 1));
    await world.until('the first partition goes on', () =>
      listener.values('source', 1 - other).includes('v4'),
    );
    assert.deepEqual(listener.records('source', other), []);
    group.resume('source', other);
    await world.until(
      'the other is read after all',
      () => listener.records('source', other).length === 4,
    );
  });
});

describe('a partition that is resumed while all others are paused', () => {
  it('is read at once, however long a fetch may wait', async () => {
    const world = await realWorld(kafka, { sourcePartitions: 2, shards: 1 });
    after(() => world.close());
    await world.produce(world.topics.source, 1, numbered(0, 1));
    const group = world.groupWith({ maxWaitMs: 20_000, sessionTimeoutMs: 30_000 });
    const listener = new RecordingListener();
    await world.settle(group.start(listener));
    await world.settle(group.confirmMembership(new AbortController().signal));
    const startedMs = performance.now();
    group.seek('source', 1, 0);
    group.resume('source', 1);
    await world.until('it is read', () => listener.batches.length > 0);
    assert.ok(performance.now() - startedMs < 5_000);
  });
});

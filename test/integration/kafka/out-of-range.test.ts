/** Patch 7 of src/kafka/kafkajs/patches.ts: without it these fail. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { type RealWorld, realWorld } from '../../conformance/kafka-real.ts';
import { numbered, RecordingListener } from '../../conformance/kafka-world.ts';
import { testKafka } from '../../support/kafka/kafka.ts';

const kafka = await testKafka();

async function joined(): Promise<{
  world: RealWorld;
  group: ReturnType<RealWorld['group']>;
  listener: RecordingListener;
}> {
  const world = await realWorld(kafka, { sourcePartitions: 2, shards: 1 });
  after(() => world.close());
  const group = world.group();
  const listener = new RecordingListener();
  await world.settle(group.start(listener));
  return { world, group, listener };
}

async function committed(world: RealWorld): Promise<(number | null)[]> {
  const offsets = await world.admin.committed(world.topics.group, world.topics.source, [0, 1]);
  return [...offsets.values()].map(({ offset }) => offset);
}

describe('an offset out of range', () => {
  it('below the start: reading goes on at the start, the listener is told, and nothing is committed', async () => {
    const { world, group, listener } = await joined();
    await world.produce(world.topics.source, 0, numbered(0, 10));
    await world.deleteRecordsBefore(world.topics.source, 0, 6);
    group.seek('source', 0, 2);
    group.resume('source', 0);
    await world.until('the rest is read', () => listener.records('source', 0).length === 4);
    assert.equal(listener.batches[0]?.fetchOffset, 6);
    assert.equal(listener.batches[0]?.nextOffset, 6);
    assert.deepEqual(
      listener.records('source', 0).map(({ offset }) => offset),
      [6, 7, 8, 9],
    );
    assert.deepEqual(await committed(world), [null, null]);
    assert.deepEqual(listener.losses, []);
  });

  it('below the start of a log without records: the listener is told at once', async () => {
    const { world, group, listener } = await joined();
    await world.produce(world.topics.source, 0, numbered(0, 3));
    await world.deleteRecordsBefore(world.topics.source, 0, 3);
    group.seek('source', 0, 1);
    group.resume('source', 0);
    await world.until('the listener is told', () => listener.batches.length > 0);
    const [batch] = listener.batches;
    assert.deepEqual([batch?.fetchOffset, batch?.nextOffset], [3, 3]);
  });

  it('beyond the end: the listener is told by an end before the position; the partition waits, the others go on', async () => {
    const { world, group, listener } = await joined();
    await world.produce(world.topics.source, 0, numbered(0, 3));
    group.seek('source', 0, 1_000);
    group.resume('source', 0);
    await world.until('the listener is told', () => listener.batches.length > 0);
    const [batch] = listener.batches;
    assert.deepEqual([batch?.fetchOffset, batch?.nextOffset, batch?.endOffset], [1_000, 1_000, 3]);
    group.seek('source', 1, 0);
    group.resume('source', 1);
    await world.produce(world.topics.source, 1, numbered(0, 1));
    await world.until(
      'another partition is read',
      () => listener.records('source', 1).length === 1,
    );
    assert.deepEqual(await committed(world), [null, null]);
    // A new position releases it.
    group.seek('source', 0, 0);
    await world.until('it is read after all', () => listener.records('source', 0).length === 3);
    assert.deepEqual(listener.losses, []);
  });
});

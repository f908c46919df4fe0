/**
 * Conformance suite for ShardGroup. Members own whole shards, each shard has one owner, and members receive
 * only records of assigned partitions.
 */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { EncodedRecords } from '../../src/core/bytes/encoded-records.ts';
import type { ShardGroup } from '../../src/core/ports/kafka.ts';
import {
  type KafkaWorld,
  numbered,
  RecordingListener,
  readSourceFrom,
  type WorldFactory,
} from './kafka-world.ts';

export function shardGroupSuite(implementation: string, createWorld: WorldFactory): void {
  describe(`ShardGroup: ${implementation}`, () => {
    let world: KafkaWorld;
    beforeEach(async () => {
      world = await createWorld({ sourcePartitions: 5, shards: 2 });
    });
    afterEach(() => world.close());

    async function join(
      prepare: (group: ShardGroup, listener: RecordingListener) => void = () => undefined,
    ) {
      const group = world.group();
      const listener = new RecordingListener();
      prepare(group, listener);
      await world.settle(group.start(listener));
      return { group, listener };
    }

    it('gives a single member every shard, with the source partitions p mod K', async () => {
      const { listener } = await join();
      assert.deepEqual(
        [...(listener.assignments[0]?.shards ?? [])],
        [
          [0, [0, 2, 4]],
          [1, [1, 3]],
        ],
      );
    });

    it('delivers nothing before a partition is positioned and resumed', async () => {
      await world.settle(world.produce(world.topics.source, 0, numbered(0, 3)));
      await world.settle(world.produce(world.topics.source, 1, numbered(0, 3)));
      const { group, listener } = await join();
      group.resume('source', 0);
      group.seek('source', 1, 0);
      group.seek('source', 2, 0);
      group.resume('source', 2);
      await world.settle(world.produce(world.topics.source, 2, numbered(0, 1)));
      await world.until(
        'the positioned and resumed partition is read',
        () => listener.records('source', 2).length === 1,
      );
      assert.deepEqual(new Set(listener.batches.map(({ partition }) => partition)), new Set([2]));
    });

    it('reads on from the position of a seek, each batch where the previous one ended', async () => {
      await world.settle(world.produce(world.topics.source, 0, numbered(0, 10)));
      // A member may have to join again at any time, and has no positions after that.
      const { listener } = await join((group, own) => {
        own.onJoined = () => {
          group.seek('source', 0, own.batches.at(-1)?.nextOffset ?? 4);
          group.resume('source', 0);
        };
      });
      await world.until('the rest is read', () => listener.records('source', 0).length >= 6);
      await world.settle(world.produce(world.topics.source, 0, numbered(10, 2)));
      await world.until('later records are read', () => listener.records('source', 0).length >= 8);
      assert.deepEqual(
        listener.records('source', 0).map(({ offset }) => offset),
        [4, 5, 6, 7, 8, 9, 10, 11],
      );
      assert.equal(listener.batches[0]?.fetchOffset, 4);
      for (const [index, batch] of listener.batches.entries()) {
        if (index > 0) assert.equal(batch.fetchOffset, listener.batches[index - 1]?.nextOffset);
        assert.ok(batch.nextOffset > batch.fetchOffset);
        assert.ok(batch.endOffset >= batch.nextOffset);
      }
    });

    it('delivers nothing while a partition is paused, and skips no record afterwards', async () => {
      const { group, listener } = await join((one, own) => readSourceFrom(one, own, 0));
      await world.settle(world.produce(world.topics.source, 0, numbered(0, 2)));
      await world.until('the first are read', () => listener.records('source', 0).length === 2);
      group.pause('source', 0);
      await world.settle(world.produce(world.topics.source, 0, numbered(2, 2)));
      await world.settle(world.produce(world.topics.source, 1, numbered(0, 1)));
      await world.until(
        'another partition is read',
        () => listener.records('source', 1).length === 1,
      );
      assert.equal(listener.records('source', 0).length, 2);
      group.resume('source', 0);
      await world.until(
        'the remaining records are read',
        () => listener.records('source', 0).length === 4,
      );
      assert.deepEqual(listener.values('source', 0), ['v0', 'v1', 'v2', 'v3']);
    });

    it('reads records again after a seek back', async () => {
      await world.settle(world.produce(world.topics.source, 3, numbered(0, 3)));
      const { group, listener } = await join((one, own) => readSourceFrom(one, own, 0));
      await world.until('all are read', () => listener.records('source', 3).length === 3);
      group.seek('source', 3, 1);
      await world.until('two are read again', () => listener.records('source', 3).length === 5);
      assert.deepEqual(listener.values('source', 3), ['v0', 'v1', 'v2', 'v1', 'v2']);
    });

    it('reads only committed records of the journal', async () => {
      const dead = world.producers().open(1);
      await world.settle(dead.commit({ journal: [{ key: 'a', value: '1' }] }));
      const tooLarge = {
        topic: world.topics.output,
        records: EncodedRecords.of([{ key: 'k', value: Buffer.alloc(2_000_000) }]),
      };
      await assert.rejects(
        world.settle(dead.commit({ journal: [{ key: 'a', value: 'lost' }], outputs: [tooLarge] })),
      );
      await world.settle(
        world
          .producers()
          .open(1)
          .commit({ journal: [{ key: 'a', value: '2' }] }),
      );
      const { group, listener } = await join();
      group.seek('journal', 1, 0);
      group.resume('journal', 1);
      await world.until('the journal is read', () => listener.records('journal', 1).length >= 2);
      assert.deepEqual(listener.values('journal', 1), ['1', '2']);
    });

    it('skips control records: the next offset reaches the end of the log', async () => {
      await world.settle(
        world
          .producers()
          .open(0)
          .commit({ journal: [{ key: 'a', value: '1' }] }),
      );
      // The marker is written to the log slightly after the response to the commit.
      await world.settle(world.readAll(world.topics.journal));
      const { end } = (await world.settle(world.admin.ranges(world.topics.journal, [0]))).get(
        0,
      ) ?? { end: -1 };
      const { group, listener } = await join();
      group.seek('journal', 0, 0);
      group.resume('journal', 0);
      await world.until('the end is reached', () => listener.batches.at(-1)?.nextOffset === end);
    });

    it('shares the shards with a member that joins, and gets them back when it leaves', async () => {
      const first = await join();
      const second = await join();
      await world.until(
        'each member has one shard',
        () => first.listener.shards.length === 1 && second.listener.shards.length === 1,
      );
      assert.deepEqual([...first.listener.shards, ...second.listener.shards].sort(), [0, 1]);
      await world.settle(second.group.stop());
      await world.until(
        'the first member has both shards again',
        () => first.listener.shards.length === 2,
      );
      const generations = first.listener.assignments.map(({ generation }) => generation);
      assert.deepEqual(
        generations,
        [...generations].sort((a, b) => a - b),
      );
    });

    it('starts every generation paused and without positions', async () => {
      const first = await join((one, own) => readSourceFrom(one, own, 0));
      const joinedBefore = first.listener.assignments.length;
      first.listener.onJoined = () => undefined;
      const second = await join();
      await world.until(
        'the group has changed',
        () => first.listener.assignments.length > joinedBefore,
      );
      const [own] = first.listener.shards;
      assert.ok(own !== undefined);
      await world.settle(world.produce(world.topics.source, own, numbered(0, 2)));
      await world.settle(second.group.confirmMembership(new AbortController().signal));
      await world.settle(first.group.confirmMembership(new AbortController().signal));
      assert.deepEqual(first.listener.records('source', own), []);
      first.group.seek('source', own, 0);
      first.group.resume('source', own);
      await world.until(
        'the first member reads again',
        () => first.listener.records('source', own).length === 2,
      );
    });

    it('assigns partitions that are added to the source while it runs', async () => {
      const { listener } = await join((one, own) => readSourceFrom(one, own, 0));
      await world.settle(world.addPartitions(world.topics.source, 7));
      await world.settle(world.produce(world.topics.source, 6, numbered(0, 2)));
      await world.until(
        'the new partition is read from its first record',
        () => listener.records('source', 6).length === 2,
      );
      assert.deepEqual(
        [...(listener.assignments.at(-1)?.shards ?? [])],
        [
          [0, [0, 2, 4, 6]],
          [1, [1, 3, 5]],
        ],
      );
    });

    it('commits no offsets on its own', async () => {
      await world.settle(world.produce(world.topics.source, 0, numbered(0, 3)));
      const { group, listener } = await join((one, own) => readSourceFrom(one, own, 0));
      await world.until('all are read', () => listener.records('source', 0).length === 3);
      await world.settle(group.stop());
      const committed = await world.settle(
        world.admin.committed(world.topics.group, world.topics.source, [0, 1]),
      );
      assert.deepEqual(
        [...committed.values()].map(({ offset }) => offset),
        [null, null],
      );
    });

    it('confirms a member, and returns the time of the last contact', async () => {
      const { group } = await join();
      assert.ok(group.lastHeardMs() > 0);
      await world.settle(group.confirmMembership(new AbortController().signal));
      const aborted = new AbortController();
      aborted.abort(new Error('not now'));
      await assert.rejects(world.settle(group.confirmMembership(aborted.signal)), /not now/);
    });

    it('can be stopped repeatedly, and delivers nothing afterwards', async () => {
      const { group, listener } = await join((one, own) => readSourceFrom(one, own, 0));
      await world.settle(group.stop());
      await world.settle(group.stop());
      const before = listener.batches.length;
      await world.settle(world.produce(world.topics.source, 0, numbered(0, 1)));
      const other = await join((one, own) => readSourceFrom(one, own, 0));
      await world.until(
        'another member reads the record',
        () => other.listener.records('source', 0).length === 1,
      );
      assert.equal(listener.batches.length, before);
    });

    it('can be stopped from inside a callback', async () => {
      await world.settle(world.produce(world.topics.source, 0, numbered(0, 1)));
      let stopped: Promise<void> | undefined;
      await join((group, listener) => {
        readSourceFrom(group, listener, 0);
        listener.onFetched = () => {
          stopped ??= group.stop();
        };
      });
      await world.until('the callback calls stop', () => stopped !== undefined);
      await world.settle(stopped as Promise<void>);
    });
  });
}

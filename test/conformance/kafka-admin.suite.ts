/** Conformance suite for ClusterAdmin. */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { EncodedRecords } from '../../src/core/bytes/encoded-records.ts';
import { type KafkaWorld, numbered, type WorldFactory } from './kafka-world.ts';

export function clusterAdminSuite(implementation: string, createWorld: WorldFactory): void {
  describe(`ClusterAdmin: ${implementation}`, () => {
    let world: KafkaWorld;
    beforeEach(async () => {
      world = await createWorld({ sourcePartitions: 3, shards: 2 });
    });
    afterEach(() => world.close());

    it('describes a topic with its partitions, replicas and effective settings', async () => {
      const journal = await world.settle(world.admin.describeTopic(world.topics.journal));
      assert.equal(journal?.partitions, 2);
      assert.equal(journal?.replicationFactor, 1);
      assert.equal(journal?.settings.get('cleanup.policy'), 'compact');
    });

    it('returns undefined for a topic that does not exist', async () => {
      assert.equal(await world.settle(world.admin.describeTopic('no-such-topic')), undefined);
    });

    it('creates a topic with its settings, and accepts one that already exists', async () => {
      const topic = `${world.topics.output}-made`;
      const settings = new Map([['cleanup.policy', 'compact']]);
      await world.settle(
        world.admin.createTopic(topic, { partitions: 4, replicationFactor: 1, settings }),
      );
      await world.settle(
        world.admin.createTopic(topic, { partitions: 9, replicationFactor: 1, settings }),
      );
      const made = await world.settle(world.admin.describeTopic(topic));
      assert.equal(made?.partitions, 4);
      assert.equal(made?.settings.get('cleanup.policy'), 'compact');
    });

    it('returns the number of brokers', async () => {
      assert.ok((await world.settle(world.admin.brokerCount())) >= 1);
    });

    it('returns the range of each requested partition, also after a deletion of records', async () => {
      await world.settle(world.produce(world.topics.source, 1, numbered(0, 5)));
      await world.settle(world.deleteRecordsBefore(world.topics.source, 1, 2));
      const ranges = await world.settle(world.admin.ranges(world.topics.source, [0, 1]));
      assert.deepEqual(
        [...ranges],
        [
          [0, { start: 0, end: 0 }],
          [1, { start: 2, end: 5 }],
        ],
      );
      assert.deepEqual(
        [...(await world.settle(world.admin.ends(world.topics.source, [1, 0])))].sort(),
        [
          [0, 0],
          [1, 5],
        ],
      );
    });

    it('ends a range where an open transaction begins, since later records may never become readable, and `ends` returns the end of the log', async () => {
      const open = (key: string) =>
        world
          .producers()
          .open(0)
          .commit({ journal: [{ key, value: '1' }] });
      const ranges = async () => [
        ...(await world.settle(world.admin.ranges(world.topics.journal, [0]))).values(),
      ];
      const end = async () =>
        (await world.settle(world.admin.ends(world.topics.journal, [0]))).get(0);
      const huge = { key: 'k', value: Buffer.alloc(2_000_000) };
      const failed = world
        .producers()
        .open(0)
        .commit({
          journal: [{ key: 'a', value: '1' }],
          outputs: [{ topic: world.topics.output, records: EncodedRecords.of([huge]) }],
        });
      await assert.rejects(world.settle(failed));
      assert.deepEqual(await ranges(), [{ start: 0, end: 0 }]);
      assert.equal(await end(), 1);
      // The next owner's fence aborts the open transaction.
      await world.settle(open('b'));
      // The markers of both transactions are written soon after the responses.
      let [range] = await ranges();
      while ((range?.end ?? 0) < 4) [range] = await ranges();
      assert.deepEqual(range, { start: 0, end: 4 });
      assert.equal(await end(), 4);
    });

    it('rejects for a partition that does not exist, and names it', async () => {
      await assert.rejects(world.settle(world.admin.ranges(world.topics.source, [7])), /7/);
      await assert.rejects(world.settle(world.admin.ends(world.topics.source, [7])), /7/);
    });

    it('rejects for a topic that does not exist, and names it', async () => {
      await assert.rejects(world.settle(world.admin.ranges('no-such-topic', [0])), /no-such-topic/);
      await assert.rejects(world.settle(world.admin.ends('no-such-topic', [0])), /no-such-topic/);
      assert.deepEqual(
        [...(await world.settle(world.admin.ends(world.topics.source, [2])))],
        [[2, 0]],
      );
    });

    it('returns ranges during the first requests for other topics', async () => {
      const { admin, topics } = world;
      const made = Array.from({ length: 12 }, (_, n) => `${topics.output}-made-${n}`);
      for (const topic of made)
        await world.settle(
          admin.createTopic(topic, { partitions: 1, replicationFactor: 1, settings: new Map() }),
        );
      const ranges = async () => {
        for (let n = 0; n < 60; n++) await admin.ranges(topics.source, [0]);
      };
      const described = async () => {
        for (const topic of made) assert.equal((await admin.describeTopic(topic))?.partitions, 1);
      };
      await world.settle(Promise.all([ranges(), ranges(), described()]));
    });

    it('returns the committed offsets of the group with their metadata, or null if there is none', async () => {
      const producer = world.producers().open(0);
      const offsets = [{ partition: 2, offset: 17, metadata: 'v1:3' }];
      await world.settle(producer.commit({ journal: [{ key: 'progress', value: '{}' }], offsets }));
      const { group, source } = world.topics;
      await world.settle(producer.commit({ journal: [{ key: 'progress', value: '{}' }] }));
      const committed = await world.settle(world.admin.committed(group, source, [0, 2]));
      assert.deepEqual(committed.get(0), { offset: null, metadata: '' });
      assert.deepEqual(committed.get(2), { offset: 17, metadata: 'v1:3' });
    });
  });
}

/** Conformance suite for ShardProducers: atomic transactions, one owner per shard. */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { EncodedRecords } from '../../src/core/bytes/encoded-records.ts';
import { TransactionError } from '../../src/core/ports/kafka.ts';
import type { ReplayProducer } from '../../src/tools/inspect/replay.ts';
import type { KafkaWorld, WorldFactory } from './kafka-world.ts';

export function shardProducersSuite(implementation: string, createWorld: WorldFactory): void {
  describe(`ShardProducers: ${implementation}`, () => {
    let world: KafkaWorld;
    beforeEach(async () => {
      world = await createWorld({ sourcePartitions: 2, shards: 2 });
    });
    afterEach(() => world.close());

    it('commits journal, outputs and offsets together, and returns the offset of the first journal record', async () => {
      const producer = world.producers().open(1);
      const first = await world.settle(
        producer.commit({ journal: [{ key: 'owner', value: 'me' }] }),
      );
      assert.equal(first.journalOffset, 0);
      const second = await world.settle(
        producer.commit({
          journal: [
            { key: 'job/1', value: 'a' },
            { key: 'job/0', value: null },
          ],
          outputs: [
            {
              topic: world.topics.output,
              records: EncodedRecords.of([{ key: 'k', value: 'decision', headers: [['h', 'x']] }]),
            },
          ],
          offsets: [{ partition: 1, offset: 5, metadata: 'v1:1' }],
        }),
      );
      assert.ok(second.journalOffset > first.journalOffset);
      const journal = await world.settle(world.readAll(world.topics.journal));
      assert.deepEqual(
        journal.map((record) => [
          record.partition,
          record.key?.toString(),
          record.value?.toString() ?? null,
        ]),
        [
          [1, 'owner', 'me'],
          [1, 'job/1', 'a'],
          [1, 'job/0', null],
        ],
      );
      assert.equal(journal[1]?.offset, second.journalOffset);
      const [decision] = await world.settle(world.readAll(world.topics.output));
      assert.equal(decision?.value?.toString(), 'decision');
      assert.deepEqual(decision?.headers, [['h', Buffer.from('x')]]);
    });

    it('runs many transactions in immediate succession', async () => {
      const producer = world.producers().open(0);
      for (let n = 0; n < 20; n++) {
        const offsets = [{ partition: 0, offset: n, metadata: '' }];
        await world.settle(producer.commit({ journal: [{ key: `k${n}`, value: 'x' }], offsets }));
      }
      assert.equal((await world.settle(world.readAll(world.topics.journal))).length, 20);
    });

    it('fences the earlier owner with the first commit of the later one, and not before', async () => {
      const earlier = world.producers().open(0);
      await world.settle(earlier.commit({ journal: [{ key: 'owner', value: 'earlier' }] }));
      const later = world.producers().open(0);
      await world.settle(earlier.commit({ journal: [{ key: 'a', value: 'still mine' }] }));
      await world.settle(later.commit({ journal: [{ key: 'owner', value: 'later' }] }));
      const late = earlier.commit({
        journal: [{ key: 'b', value: 'lost' }],
        offsets: [{ partition: 0, offset: 99, metadata: 'stale' }],
      });
      await assert.rejects(
        world.settle(late),
        (error) => error instanceof TransactionError && error.failure === 'fenced',
      );
      const values = (await world.settle(world.readAll(world.topics.journal))).map(({ value }) =>
        value?.toString(),
      );
      assert.deepEqual(values, ['earlier', 'still mine', 'later']);
      const committed = await world.settle(
        world.admin.committed(world.topics.group, world.topics.source, [0]),
      );
      assert.equal(committed.get(0)?.offset, null);
    });

    it('writes a command to every shard, unless another command has fenced it', async () => {
      const owner = world.producers().open(1);
      await world.settle(owner.commit({ journal: [{ key: 'owner', value: 'me' }] }));
      const [late, producer] = [world.controlProducer(), world.controlProducer()];
      await world.settle(late.fence());
      await world.settle(producer.fence());
      await assert.rejects(
        world.settle(late.commit({ journal: [{ key: 'control', value: 'late' }] })),
        (error) => error instanceof TransactionError && error.failure === 'fenced',
      );
      await world.settle(producer.commit({ journal: [{ key: 'control', value: 'now' }] }));
      await world.settle(owner.commit({ journal: [{ key: 'owner', value: 'still me' }] }));
      const journal = await world.settle(world.readAll(world.topics.journal));
      assert.deepEqual(
        journal.map(({ partition, value }) => [partition, String(value)]),
        [
          [0, 'now'],
          [1, 'me'],
          [1, 'now'],
          [1, 'still me'],
        ],
      );
    });

    it('publishes and commits offsets for a replay, unless another replay has fenced it', async () => {
      const [late, producer] = [world.replayProducer(), world.replayProducer()];
      const replay = (by: ReplayProducer, value: string, offset: number) => {
        const records = EncodedRecords.of([{ key: 'k', value }]);
        const offsets = [{ partition: 1, offset, metadata: value }];
        return world.settle(
          by.commit({ outputs: [{ topic: world.topics.output, records }], offsets }),
        );
      };
      await world.settle(late.fence());
      await replay(late, 'first', 1);
      await world.settle(producer.fence());
      await assert.rejects(
        replay(late, 'late', 2),
        (error) => error instanceof TransactionError && error.failure === 'fenced',
      );
      await replay(producer, 'second', 3);
      const published = await world.settle(world.readAll(world.topics.output));
      assert.deepEqual(
        published.map(({ value }) => String(value)),
        ['first', 'second'],
      );
      const committed = await world.settle(
        world.admin.committed(world.topics.group, world.topics.source, [0, 1]),
      );
      assert.deepEqual(committed.get(1), { offset: 3, metadata: 'second' });
      assert.equal(committed.get(0)?.offset, null);
    });

    it('does not fence the owner of another shard', async () => {
      const zero = world.producers().open(0);
      const one = world.producers().open(1);
      await world.settle(zero.commit({ journal: [{ key: 'a', value: '1' }] }));
      await world.settle(one.commit({ journal: [{ key: 'a', value: '2' }] }));
      await world.settle(zero.commit({ journal: [{ key: 'a', value: '3' }] }));
    });

    it('cannot be used after a failure', async () => {
      const earlier = world.producers().open(0);
      await world.settle(earlier.commit({ journal: [{ key: 'a', value: '1' }] }));
      await world.settle(
        world
          .producers()
          .open(0)
          .commit({ journal: [{ key: 'a', value: '2' }] }),
      );
      await assert.rejects(
        world.settle(earlier.commit({ journal: [{ key: 'a', value: '3' }] })),
        TransactionError,
      );
      await assert.rejects(
        world.settle(earlier.commit({ journal: [{ key: 'a', value: '4' }] })),
        TransactionError,
      );
      await world.settle(earlier.close());
      await world.settle(earlier.close());
    });

    it('commits many records at once to a topic with a small max.message.bytes, and refuses only a record that is itself too large', async () => {
      const topic = `${world.topics.output}-small`;
      const settings = new Map([['max.message.bytes', '100000']]);
      await world.settle(
        world.admin.createTopic(topic, { partitions: 1, replicationFactor: 1, settings }),
      );
      const producer = world.producers().open(0);
      const records = Array.from({ length: 1_000 }, (_, n) => ({
        key: `k${n}`,
        value: Buffer.alloc(1_000, 'x'),
        headers: [],
      }));
      await world.settle(
        producer.commit({
          journal: [{ key: 'a', value: '1' }],
          outputs: [{ topic, records: EncodedRecords.of(records) }],
        }),
      );
      const nearly = { key: 'nearly', value: Buffer.alloc(99_800) };
      await world.settle(
        producer.commit({
          journal: [{ key: 'b', value: '1' }],
          outputs: [{ topic, records: EncodedRecords.of([nearly]) }],
        }),
      );
      const alone = { key: 'alone', value: Buffer.alloc(100_001) };
      const attempt = producer.commit({
        journal: [{ key: 'c', value: '1' }],
        outputs: [{ topic, records: EncodedRecords.of([alone]) }],
      });
      await assert.rejects(
        world.settle(attempt),
        (error) => error instanceof TransactionError && error.failure === 'too_large',
      );
      const keys = (await world.settle(world.readAll(topic))).map(({ key }) => String(key));
      assert.deepEqual(keys, [...records.map(({ key }) => key), 'nearly']);
    });

    it('refuses a record above the limit of the brokers as too large, and publishes nothing of its transaction', async () => {
      const producer = world.producers().open(0);
      const huge = { key: 'k', value: Buffer.alloc(2_000_000) };
      const attempt = producer.commit({
        journal: [{ key: 'a', value: '1' }],
        outputs: [
          {
            topic: world.topics.output,
            records: EncodedRecords.of([{ key: 'small', value: 'x' }, huge]),
          },
        ],
      });
      await assert.rejects(
        world.settle(attempt),
        (error) => error instanceof TransactionError && error.failure === 'too_large',
      );
      // The next owner's fence aborts the open transaction.
      await world.settle(
        world
          .producers()
          .open(0)
          .commit({ journal: [{ key: 'b', value: '2' }] }),
      );
      assert.deepEqual(await world.settle(world.readAll(world.topics.output)), []);
      const journal = await world.settle(world.readAll(world.topics.journal));
      assert.deepEqual(
        journal.map(({ key }) => key?.toString()),
        ['b'],
      );
    });

    it('accepts more in one transaction than fits into one request', async () => {
      const producer = world.producers().open(0);
      const records = Array.from({ length: 30 }, (_, n) => ({
        key: 'same',
        value: Buffer.alloc(100_000, n),
      }));
      const journal = Array.from({ length: 20 }, (_, n) => ({
        key: `j${n}`,
        value: 'x'.repeat(100_000),
      }));
      const [head, ...tail] = journal;
      assert.ok(head);
      await world.settle(
        producer.commit({
          journal: [head, ...tail],
          outputs: [{ topic: world.topics.output, records: EncodedRecords.of(records) }],
        }),
      );
      const output = await world.settle(world.readAll(world.topics.output));
      assert.deepEqual(
        output.map(({ value }) => value?.[0]),
        records.map((_, n) => n),
      );
      assert.equal((await world.settle(world.readAll(world.topics.journal))).length, 20);
    });

    it('writes records of one key to one partition, in order', async () => {
      const producer = world.producers().open(0);
      const records = Array.from({ length: 60 }, (_, n) => ({
        key: `key-${n % 7}`,
        value: String(n),
      }));
      await world.settle(
        producer.commit({
          journal: [{ key: 'a', value: '1' }],
          outputs: [{ topic: world.topics.output, records: EncodedRecords.of(records) }],
        }),
      );
      const output = await world.settle(world.readAll(world.topics.output));
      for (let key = 0; key < 7; key++) {
        const own = output.filter((record) => record.key?.toString() === `key-${key}`);
        assert.equal(new Set(own.map(({ partition }) => partition)).size, 1);
        assert.deepEqual(
          own.map(({ value }) => Number(value)),
          records.filter((record) => record.key === `key-${key}`).map(({ value }) => Number(value)),
        );
      }
    });
  });
}

/** Patch 3 of src/kafka/kafkajs/patches.ts: without it these fail. */
import assert from 'node:assert/strict';
import { after, it } from 'node:test';
import { RecordProducer } from '../../../dev/kafka/send-records.ts';
import type { RecordPiece } from '../../../src/core/ports/kafka.ts';
import { realWorld } from '../../conformance/kafka-real.ts';
import { RecordingListener } from '../../conformance/kafka-world.ts';
import { testKafka } from '../../support/kafka/kafka.ts';

const kafka = await testKafka();

it('neither the group nor the reader sees a record of an aborted transaction, however they interleave', async () => {
  const world = await realWorld(kafka, { sourcePartitions: 1, shards: 1 });
  after(() => world.close());
  const { source } = world.topics;
  const transactions = [0, 1, 2, 3].map(
    (n) => new RecordProducer(kafka.brokers, { transactionalId: `${source}-${n}` }),
  );
  const expected: string[] = [];
  for (let round = 0; round < 6; round++) {
    // All four write turn by turn into one partition; which of them commit, and in what order they end, differs each round.
    for (const producer of transactions) await producer.begin(source, [0]);
    const written: string[][] = transactions.map(() => []);
    for (let turn = 0; turn < 3; turn++) {
      for (const [n, transaction] of transactions.entries()) {
        const value = `${round}/${n}/${turn}`;
        // Kafka's own abort marker has such a key.
        const key = turn === 1 ? Buffer.alloc(4) : 'k';
        await transaction.send(source, 0, [{ key, value }]);
        written[n]?.push(value);
      }
    }
    const order = transactions.map((_, n) => (n * 3 + round) % transactions.length);
    for (const n of order) {
      const commits = (n + round) % 3 === 0;
      if (commits) expected.push(...(written[n] ?? []));
      await transactions[n]?.end(commits);
    }
    await world.produce(source, 0, [{ key: 'plain', value: `${round}` }]);
    expected.push(`${round}`);
  }
  await Promise.all(transactions.map((producer) => producer.close()));
  expected.sort();
  const { end } = (await world.admin.ranges(source, [0])).get(0) ?? { end: 0 };

  const listener = new RecordingListener();
  const group = world.group();
  await world.settle(group.start(listener));
  group.seek('source', 0, 0);
  group.resume('source', 0);
  await world.until(
    'the group has read to the end',
    () => listener.batches.at(-1)?.nextOffset === end,
  );
  assert.deepEqual(listener.values('source', 0).sort(), expected);

  const read: string[] = [];
  const onPiece = ({ records }: RecordPiece) =>
    void read.push(...records.map(({ value }) => String(value)));
  await world.settle(
    world
      .sourceReader()
      .read({ partition: 0, from: 0, to: end - 1 }, onPiece, new AbortController().signal),
  );
  assert.deepEqual(read.sort(), expected);
});

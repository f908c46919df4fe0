/** Mend 3 of src/kafka/kafkajs/patches.ts: take it out and these fail. */
import assert from 'node:assert/strict';
import { after, it } from 'node:test';
import { sendRecords } from '../../../dev/kafka/send-records.ts';
import type { RecordPiece } from '../../../src/core/ports/kafka.ts';
import { Client } from '../../../src/kafka/client/connect.ts';
import { realWorld } from '../../conformance/kafka-real.ts';
import { RecordingListener } from '../../conformance/kafka-world.ts';
import { testKafka } from '../../support/kafka/kafka.ts';

const kafka = await testKafka();

it('neither the group nor the reader sees a record of an aborted transaction, however they interleave', async () => {
  const world = await realWorld(kafka, { sourcePartitions: 1, shards: 1 });
  after(() => world.close());
  const { source } = world.topics;
  const clients: (() => Promise<void>)[] = [];
  const transactions = await Promise.all(
    [0, 1, 2, 3].map(async (n) => {
      const client = new Client({ brokers: kafka.brokers, clientId: 'writer' }, world.logger, {
        initialRetryTime: 5,
        retries: 20,
      });
      const producer = client.kafka.producer({
        transactionalId: `${source}-${n}`,
        maxInFlightRequests: 1,
      });
      await producer.connect();
      clients.push(() => client.close(() => producer.disconnect(), 1_000));
      return producer;
    }),
  );
  const expected: string[] = [];
  for (let round = 0; round < 6; round++) {
    // All four write turn by turn into one partition; which of them commit, and in what order they end, differs each round.
    const open = [];
    for (const producer of transactions) open.push(await producer.transaction());
    const written: string[][] = open.map(() => []);
    for (let turn = 0; turn < 3; turn++) {
      for (const [n, transaction] of open.entries()) {
        const value = `${round}/${n}/${turn}`;
        // Kafka's own abort marker has such a key.
        const key = turn === 1 ? Buffer.alloc(4) : 'k';
        await sendRecords(transaction, { topic: source, partition: 0 }, [{ key, value }]);
        written[n]?.push(value);
      }
    }
    const order = open.map((_, n) => (n * 3 + round) % open.length);
    for (const n of order) {
      const commits = (n + round) % 3 === 0;
      if (commits) expected.push(...(written[n] ?? []));
      await (commits ? open[n]?.commit() : open[n]?.abort());
    }
    await world.produce(source, 0, [{ key: 'plain', value: `${round}` }]);
    expected.push(`${round}`);
  }
  await Promise.all(clients.map((close) => close()));
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

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { after, describe, it } from 'node:test';
import { EncodedRecords } from '../../../src/core/bytes/encoded-records.ts';
import { TransactionError } from '../../../src/core/ports/kafka.ts';
import type { OutgoingBatch } from '../../../src/kafka/producer/outgoing-batch.ts';
import { KafkaShardProducer } from '../../../src/kafka/producer/shard-producer.ts';
import { type RealWorld, realWorld } from '../../conformance/kafka-real.ts';
import { testKafka } from '../../support/kafka/kafka.ts';

// The copy of kafkajs that the adapter uses.
const load = createRequire(import.meta.url);
const kafka = await testKafka();

interface Broker {
  disconnect(): Promise<void>;
  produce(options: {
    readonly topicData: { readonly topic: string; readonly batch: OutgoingBatch };
  }): Promise<unknown>;
}
const ASKED = {
  apiVersion: 7,
  correlationId: 0,
  clientId: '',
  transactionalId: undefined,
  acks: -1,
  timeoutMs: 0,
};

async function newWorld(): Promise<RealWorld> {
  const world = await realWorld(kafka, { sourcePartitions: 1, shards: 2, outputPartitions: 2 });
  after(() => world.close());
  return world;
}

const failure = (kind: string) => (error: unknown) =>
  error instanceof TransactionError && error.failure === kind;

describe('a transaction', () => {
  it('whose commit was done but not answered is unknown, and one whose commit never arrived is too', async () => {
    const { prototype } = load('kafkajs/src/broker/index.js') as {
      prototype: { endTxn(request: object): Promise<unknown> };
    };
    for (const arrives of [true, false]) {
      const world = await newWorld();
      const producer = world.producers().open(0);
      const { endTxn } = prototype;
      prototype.endTxn = async function (request) {
        if (arrives) await endTxn.call(this, request);
        throw Object.assign(new Error('Closed connection'), {
          name: 'KafkaJSConnectionClosedError',
          retriable: true,
        });
      };
      await assert.rejects(
        world.settle(producer.commit({ journal: [{ key: 'a', value: '1' }] })),
        failure('unknown'),
      );
      prototype.endTxn = endTxn;
      await world.settle(
        world
          .producers()
          .open(0)
          .commit({ journal: [{ key: 'b', value: '2' }] }),
      );
      const values = (await world.readAll(world.topics.journal)).map(({ value }) => String(value));
      assert.deepEqual(values, arrives ? ['1', '2'] : ['2']);
    }
  });

  it('reaches a partition that its producer does not know yet', async () => {
    const world = await newWorld();
    const { group, source, journal, output } = world.topics;
    let count = 2;
    const options = {
      groupId: group,
      sourceTopic: source,
      journalTopic: journal,
      pool: world.pool,
    };
    const producer = new KafkaShardProducer(
      [0],
      { brokers: kafka.brokers, clientId: 'c' },
      options,
      async () => ({ partitions: count, maxMessageBytes: undefined }),
      world.logger,
    );
    const outputs = (round: number) => {
      const records = Array.from({ length: 50 }, (_, n) => ({ key: `${round}/${n}`, value: 'v' }));
      return [{ topic: output, records: EncodedRecords.of(records) }];
    };
    await world.settle(
      producer.commit({ journal: [{ key: 'a', value: '1' }], outputs: outputs(0) }),
    );
    await world.addPartitions(output, 6);
    count = 6;
    await world.settle(
      producer.commit({ journal: [{ key: 'b', value: '2' }], outputs: outputs(1) }),
    );
    await producer.close();
    const seen = await world.readAll(output);
    assert.equal(seen.length, 100);
    assert.ok(seen.some(({ partition }) => partition > 1));
    assert.equal(world.pool.lentBytes, 0);
  });

  for (const arrives of [true, false]) {
    it(`holds each record once when a connection is lost ${arrives ? 'after' : 'before'} a send, whose buffer is not used again`, async () => {
      const world = await newWorld();
      const { output } = world.topics;
      const producer = world.producers().open(0);
      const commit = (round: number) =>
        world.settle(
          producer.commit({
            journal: [{ key: 'round', value: `${round}` }],
            outputs: [
              {
                topic: output,
                records: EncodedRecords.of(
                  [1, 2, 3].map((n) => ({ key: 'k', value: `${round}/${n}` })),
                ),
              },
            ],
          }),
        );
      await commit(0);
      const { prototype } = load('kafkajs/src/broker/index.js') as { prototype: Broker };
      const { produce } = prototype;
      const lost = { count: 0, bytes: 0 };
      prototype.produce = async function (options) {
        const { topic, batch } = options.topicData;
        if (topic !== output || lost.count++ > 0) return await produce.call(this, options);
        lost.bytes = world.pool.lentBytes;
        if (arrives) await produce.call(this, options);
        else batch.request({ ...ASKED, topic });
        await this.disconnect();
        throw Object.assign(new Error('Closed connection'), {
          name: 'KafkaJSConnectionClosedError',
          retriable: true,
          host: '127.0.0.1',
          port: 1,
        });
      };
      try {
        await commit(1);
      } finally {
        prototype.produce = produce;
      }
      assert.equal(lost.count, 2);
      assert.equal(world.pool.lentBytes, 0);
      // That of the journal's send came back, that of the other did not.
      assert.ok(lost.bytes > 0);
      assert.equal(world.pool.idleBytes, 0);
      await commit(2);
      const values = (await world.readAll(output)).map(({ value }) => String(value));
      assert.deepEqual(
        values,
        [0, 1, 2].flatMap((round) => [1, 2, 3].map((n) => `${round}/${n}`)),
      );
      assert.equal(world.pool.lentBytes, 0);
      assert.equal(world.pool.idleBytes, lost.bytes);
    });
  }
});

/** Each test fails when its mend is taken out of src/kafka/kafkajs/produce-patches.ts. */
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { describe, it } from 'node:test';
import type { Producer } from 'kafkajs';
import { BufferPool } from '../../../../src/core/bytes/buffer-pool.ts';
import { EncodedRecords } from '../../../../src/core/bytes/encoded-records.ts';
import '../../../../src/kafka/kafkajs/patches.ts';
import { OutgoingBatch } from '../../../../src/kafka/producer/outgoing-batch.ts';
import { sendBatch } from '../../../../src/kafka/producer/send-batch.ts';
import { planBatchesTo } from '../../../../src/kafka/producer/send-plan.ts';

// The copy of kafkajs that the fixes have loaded.
const load = createRequire(import.meta.url);
const internal = <T>(file: string): T => load(`kafkajs/src/${file}`) as T;
const quiet = { debug() {}, info() {}, warn() {}, error() {}, namespace: () => quiet };

interface EosManager {
  initProducerId(): Promise<void>;
  beginTransaction(): void;
}
interface Produced {
  readonly transactionalId: string;
  readonly topicData: { readonly topic: string; readonly batch: OutgoingBatch };
}
interface Sent {
  readonly sequence: number;
  readonly producerId: bigint;
  readonly epoch: number;
  readonly bytes: Buffer;
}
type Answer = (attempt: number) => void | Promise<void>;

const createManager = internal<(options: object) => EosManager>('producer/eosManager/index.js');
const createRetry = internal<(options: object) => unknown>('retry/index.js');
const createProducer = internal<(options: object) => Pick<Producer, 'send'>>(
  'producer/messageProducer.js',
);
const createRequest =
  internal<(given: object) => Promise<{ readonly buffer: Buffer }>>('protocol/request.js');
const { protocol } = internal<{
  protocol(options: {
    version: number;
  }): (options: Produced) => { readonly request: { readonly apiVersion: number } };
}>('protocol/requests/produce/index.js');
const { createErrorFromCode } = internal<{ createErrorFromCode(code: number): Error }>(
  'protocol/error.js',
);

/** A producer within a transaction, over a cluster of one broker that answers as the test tells. */
async function producerTo(answer: Answer) {
  const sent: Sent[] = [];
  const calls: string[] = [];
  let correlationId = 0;
  const leader = {
    nodeId: '7',
    initProducerId: async () => ({ producerId: '5', producerEpoch: 3 }),
    addPartitionsToTxn: async ({ topics }: { topics: object }) =>
      void calls.push(`add ${JSON.stringify(topics)}`),
    produce: async (options: Produced) => {
      const { request } = protocol({ version: 7 })({ ...options, timeout: 30_000 } as Produced);
      const frame = await createRequest({
        correlationId: correlationId++,
        clientId: 'client',
        request,
      });
      const bytes = frame.buffer.subarray(
        frame.buffer.length - options.topicData.batch.bytes.length,
      );
      sent.push({
        sequence: bytes.readInt32BE(53),
        producerId: bytes.readBigInt64BE(43),
        epoch: bytes.readInt16BE(51),
        bytes: Buffer.from(bytes),
      });
      await answer(sent.length);
      const { topic, batch } = options.topicData;
      return {
        topics: [
          {
            topicName: topic,
            partitions: [{ partition: batch.partition, errorCode: 0, baseOffset: '40' }],
          },
        ],
      };
    },
  };
  let partitions = 2;
  const cluster = {
    retry: {},
    refreshMetadataIfNecessary: async () => {},
    refreshMetadata: async () => {
      calls.push('refresh');
      partitions = 3;
    },
    addMultipleTargetTopics: async () => {},
    findGroupCoordinator: async () => leader,
    findLeaderForPartitions: (_: string, [partition = 0]: number[]) =>
      partition < partitions ? { 7: [partition] } : {},
    findBroker: async () => leader,
    removeBroker: ({ host, port }: { host: string; port: number }) =>
      void calls.push(`remove ${host}:${port}`),
    isConnected: () => true,
    connect: async () => {},
  };
  const eosManager = createManager({
    logger: quiet,
    cluster,
    transactional: true,
    transactionalId: 'journal-0',
  });
  await eosManager.initProducerId();
  eosManager.beginTransaction();
  const producer = createProducer({
    logger: quiet,
    cluster,
    eosManager,
    idempotent: true,
    retrier: createRetry({ initialRetryTime: 1, maxRetryTime: 1, retries: 3 }),
    getConnectionStatus: () => 'connected',
  });
  return { producer, sent, calls };
}

const pool = new BufferPool(1024 * 1024);

function batchOf(count: number, partition = 1): OutgoingBatch {
  const records = EncodedRecords.of(
    Array.from({ length: count }, (_, n) => ({ key: null, value: `${n}` })),
  );
  const [planned] = planBatchesTo(partition, records);
  assert.ok(planned !== undefined);
  return new OutgoingBatch(pool, records, planned, 200);
}

/** Without the bytes that a request was written into. */
const taken = () => pool.take(8 * 1024);

describe('sends through kafkajs', () => {
  it('5: carry producer id, epoch and the sequence that follows the last one, by partition', async () => {
    const { producer, sent, calls } = await producerTo(() => {});
    assert.equal(await sendBatch(producer, 'out', batchOf(10)), 40);
    await sendBatch(producer, 'out', batchOf(3));
    await sendBatch(producer, 'out', batchOf(1, 0));
    await sendBatch(producer, 'out', batchOf(1));
    assert.deepEqual(
      sent.map(({ sequence, producerId, epoch }) => [sequence, producerId, epoch]),
      [0, 10, 0, 13].map((sequence) => [sequence, 5n, 3]),
    );
    assert.deepEqual(calls, [
      'add [{"topic":"out","partitions":[1]}]',
      'add [{"topic":"out","partitions":[0]}]',
    ]);
    assert.equal(pool.lentBytes, 0);
  });

  for (const [what, error] of Object.entries({
    'an answer that can be retried': createErrorFromCode(6),
    'a connection lost before the answer': Object.assign(new Error('Closed connection'), {
      name: 'KafkaJSConnectionClosedError',
      retriable: true,
      host: 'kafka',
      port: 9092,
    }),
  })) {
    it(`5: repeat the same bytes with the same sequence after ${what}, and their buffer is not used again`, async () => {
      const { producer, sent, calls } = await producerTo((attempt) => {
        if (attempt === 1) throw error;
      });
      const batch = batchOf(10);
      const memory = batch.bytes.buffer;
      assert.equal(await sendBatch(producer, 'out', batch), 40);
      assert.equal(sent.length, 2);
      assert.deepEqual(sent[1], sent[0]);
      assert.ok(calls.includes('refresh'));
      assert.equal(calls.includes('remove kafka:9092'), 'host' in error);
      assert.equal(pool.lentBytes, 0);
      const [one, two] = [taken(), taken()];
      assert.ok(one.buffer !== memory && two.buffer !== memory);
      for (const buffer of [one, two]) pool.give(buffer);
      await sendBatch(producer, 'out', batchOf(1));
      assert.equal(sent[2]?.sequence, 10);
    });
  }

  it('5: that fail for good drop their buffer, and tell why', async () => {
    const { producer, sent } = await producerTo(() => {
      throw createErrorFromCode(10);
    });
    const batch = batchOf(10);
    const memory = batch.bytes.buffer;
    await assert.rejects(sendBatch(producer, 'out', batch), { type: 'MESSAGE_TOO_LARGE' });
    assert.equal(sent.length, 1);
    assert.equal(pool.lentBytes, 0);
    const buffer = taken();
    assert.ok(buffer.buffer !== memory);
    pool.give(buffer);
  });

  it('5: that are answered give their buffer to the next', async () => {
    const { producer } = await producerTo(() => {});
    const batch = batchOf(10);
    const memory = batch.bytes.buffer;
    await sendBatch(producer, 'out', batch);
    const next = batchOf(5);
    assert.equal(next.bytes.buffer, memory);
    await sendBatch(producer, 'out', next);
  });

  it('5: to a partition that the metadata do not name wait for newer metadata', async () => {
    const { producer, sent, calls } = await producerTo(() => {});
    await sendBatch(producer, 'out', batchOf(1, 2));
    assert.equal(sent.length, 1);
    assert.equal(calls[0], 'refresh');
    await assert.rejects(
      sendBatch(producer, 'out', batchOf(1, 3)),
      /partition 3 of topic out is not known/,
    );
  });

  it('5: go on at sequence 0 behind 2147483647, wherever in a batch that is', async () => {
    const { producer, sent } = await producerTo(() => {});
    const largest = 2 ** 31 - 1;
    // Batches that claim to hold so many records: the sequence depends on the count alone.
    const claim = async (count: number) => {
      const batch = batchOf(1);
      Object.defineProperty(batch, 'count', { value: count });
      await sendBatch(producer, 'out', batch);
    };
    await claim(largest - 2);
    await claim(2);
    await claim(1);
    await claim(largest);
    await claim(3);
    await claim(1);
    assert.deepEqual(
      sent.map(({ sequence }) => sequence),
      [0, largest - 2, largest, 0, largest, 2],
    );
  });

  it('5: are refused when they are not one batch that all replicas acknowledge', async () => {
    const { producer, sent } = await producerTo(() => {});
    await assert.rejects(
      producer.send({ topic: 'out', messages: [{ value: 'a message' }] }),
      /a send is one batch/,
    );
    const batch = batchOf(1);
    const message = { value: null, batch };
    for (const messages of [[message, message], []])
      await assert.rejects(
        producer.send({ topic: 'out', acks: -1, messages }),
        /a send is one batch/,
      );
    batch.release(false);
    assert.equal(sent.length, 0);
  });

  it('6: requests without a batch are written as before', async () => {
    const Encoder =
      internal<new () => { writeInt32(value: number): object }>('protocol/encoder.js');
    const request = { apiKey: 18, apiVersion: 2, encode: async () => new Encoder().writeInt32(77) };
    const { buffer } = await createRequest({ correlationId: 9, clientId: 'me', request });
    assert.equal(buffer.toString('hex'), '000000100012000200000009' + '00026d65' + '0000004d');
  });
});

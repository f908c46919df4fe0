import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { BufferPool } from '../../../../src/core/bytes/buffer-pool.ts';
import { EncodedRecords } from '../../../../src/core/bytes/encoded-records.ts';
import { explain, protocolErrorOf } from '../../../../src/kafka/errors.ts';
import { internal } from '../../../../src/kafka/kafkajs/internals.ts';
import { BatchProducer } from '../../../../src/kafka/producer/batch-producer.ts';
import { OutgoingBatch } from '../../../../src/kafka/producer/outgoing-batch.ts';
import { planBatchesTo } from '../../../../src/kafka/producer/send-plan.ts';
import { KafkaShardProducer } from '../../../../src/kafka/producer/shard-producer.ts';
import { eventually } from '../../../support/eventually.ts';
import { RecordingLogger } from '../../../support/memory/telemetry/recording-telemetry.ts';

interface Produced {
  readonly transactionalId: string;
  readonly topicData: { readonly topic: string; readonly batch: OutgoingBatch };
}
interface Sent {
  readonly partition: number;
  readonly sequence: number;
  readonly producerId: bigint;
  readonly epoch: number;
  readonly bytes: Buffer;
}
/** Returns the base offset of the response; undefined stands for 40. */
type Answer = (attempt: number) => unknown;

const { prototype: cluster } = internal<{ prototype: object }>('cluster/index.js');
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

/** Returns a producer within a transaction, for a cluster of one broker with scripted responses. */
async function producerTo(answer: Answer, existing = 2) {
  const sent: Sent[] = [];
  const calls: string[] = [];
  /** Error codes of the next requests that add partitions. */
  const addErrors: number[] = [];
  let correlationId = 0;
  const broker = {
    nodeId: '7',
    initProducerId: async () => ({ producerId: '5', producerEpoch: 3 }),
    addPartitionsToTxn: async ({ topics }: { topics: object }) => {
      calls.push(`add ${JSON.stringify(topics)}`);
      const code = addErrors.shift();
      if (code !== undefined) throw createErrorFromCode(code);
    },
    addOffsetsToTxn: async () => void calls.push('add offsets'),
    txnOffsetCommit: async () => void calls.push('commit offsets'),
    endTxn: async ({ transactionResult }: { transactionResult: boolean }) =>
      void calls.push(`end ${transactionResult}`),
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
        partition: options.topicData.batch.partition,
        sequence: bytes.readInt32BE(53),
        producerId: bytes.readBigInt64BE(43),
        epoch: bytes.readInt16BE(51),
        bytes: Buffer.from(bytes),
      });
      const baseOffset = (await answer(sent.length)) ?? '40';
      const { topic, batch } = options.topicData;
      const partitions = [{ partition: batch.partition, errorCode: 0, baseOffset }];
      return { topics: [{ topicName: topic, partitions }] };
    },
  };
  let partitions = existing;
  Object.assign(cluster, {
    connect: async () => {},
    disconnect: async () => {},
    refreshMetadataIfNecessary: async () => {},
    refreshMetadata: async () => {
      calls.push('refresh');
      partitions = 3;
    },
    addMultipleTargetTopics: async () => {},
    findGroupCoordinator: async ({ groupId }: { groupId: string }) => {
      calls.push(`look up ${groupId}`);
      return broker;
    },
    findTopicPartitionMetadata: () =>
      Array.from({ length: partitions }, (_, partitionId) => ({ partitionId, leader: 7 })),
    findLeaderForPartitions: (_: string, led: number[]) => ({
      7: led.filter((partition) => partition < partitions),
    }),
    findBroker: async () => broker,
  });
  const ended = new AbortController();
  const producer = new BatchProducer(
    { brokers: ['127.0.0.1:1'], clientId: 'client' },
    { transactionalId: 'journal-0', transactionTimeoutMs: 60_000, signal: ended.signal },
    new RecordingLogger(),
  );
  await producer.begin(new Map([['out', [0, 1]]]));
  calls.length = 0;
  return { producer, sent, calls, ended, addErrors };
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

/** Takes a buffer as large as a request's buffer. */
const taken = () => pool.take(8 * 1024);

describe('sends of a producer', () => {
  it('carry producer id, epoch and the next sequence number of their partition', async () => {
    const { producer, sent } = await producerTo(() => {});
    assert.equal(await producer.send('out', batchOf(10)), 40);
    await producer.send('out', batchOf(3));
    await producer.send('out', batchOf(1, 0));
    await producer.send('out', batchOf(1));
    assert.deepEqual(
      sent.map(({ sequence, producerId, epoch }) => [sequence, producerId, epoch]),
      [0, 10, 0, 13].map((sequence) => [sequence, 5n, 3]),
    );
    assert.equal(pool.lentBytes, 0);
    assert.ok(pool.idleBytes > 0, 'buffers are reused after a response');
  });

  for (const [what, error] of Object.entries({
    'a retriable error': createErrorFromCode(6),
    'a connection lost before the response': Object.assign(new Error('Closed connection'), {
      name: 'KafkaJSConnectionClosedError',
      retriable: true,
    }),
  })) {
    it(`repeat the same bytes with the same sequence after ${what}, and do not reuse their buffer`, async () => {
      const { producer, sent, calls } = await producerTo((attempt) => {
        if (attempt === 1) throw error;
      });
      const batch = batchOf(10);
      const memory = batch.bytes.buffer;
      assert.equal(await producer.send('out', batch), 40);
      assert.equal(sent.length, 2);
      assert.deepEqual(sent[1], sent[0]);
      assert.ok(calls.includes('refresh'));
      assert.equal(pool.lentBytes, 0);
      const [one, two] = [taken(), taken()];
      assert.ok(one.buffer !== memory && two.buffer !== memory);
      for (const buffer of [one, two]) pool.give(buffer);
      await producer.send('out', batchOf(1));
      assert.equal(sent[2]?.sequence, 10);
    });
  }

  it('that fail permanently drop their buffer and report the reason', async () => {
    const { producer, sent } = await producerTo(() => {
      throw createErrorFromCode(10);
    });
    const batch = batchOf(10);
    const memory = batch.bytes.buffer;
    await assert.rejects(producer.send('out', batch), (error) => {
      assert.equal(protocolErrorOf(error), 'MESSAGE_TOO_LARGE');
      assert.match(explain(error), /partition 1 of topic out.*max\.message\.bytes/);
      return true;
    });
    assert.equal(sent.length, 1);
    assert.equal(pool.lentBytes, 0);
    const buffer = taken();
    assert.ok(buffer.buffer !== memory);
    pool.give(buffer);
  });

  it('to a partition that the metadata lacks wait for newer metadata', async () => {
    const { producer, sent, calls, ended } = await producerTo(() => {});
    await producer.send('out', batchOf(1, 2));
    assert.equal(sent.length, 1);
    assert.equal(calls[0], 'refresh');
    const never = assert.rejects(producer.send('out', batchOf(1, 3)), /given up/);
    await eventually('the failure is known', () =>
      /topic out has no partition 3/.test(producer.lastFailure ?? ''),
    );
    ended.abort(new Error('given up'));
    await never;
    assert.equal(pool.lentBytes, 0);
  });

  it('continue at sequence 0 after 2147483647, at any position in a batch', async () => {
    const { producer, sent } = await producerTo(() => {});
    const largest = 2 ** 31 - 1;
    // The batches only claim this number of records: the sequence depends on the count alone.
    const claim = async (count: number) => {
      const batch = batchOf(1);
      Object.defineProperty(batch, 'count', { value: count });
      await producer.send('out', batch);
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

  it('look up coordinators again after a failure and before the end, and the next transaction reuses them', async () => {
    const { producer, calls, addErrors } = await producerTo(() => {});
    const NOT_COORDINATOR = 16;
    addErrors.push(NOT_COORDINATOR);
    const lookup = 'look up journal-0';
    const add = 'add [{"topic":"out","partitions":[1]}]';
    const begin = () => producer.begin(new Map([['out', [1]]]));
    await begin();
    assert.deepEqual(calls.splice(0), [add, 'refresh', lookup, add]);
    const offsets = [{ partition: 0, offset: 7, metadata: '' }];
    for (const lookups of [['look up group'], []]) {
      await producer.sendOffsets('group', 'in', offsets);
      assert.deepEqual(calls.splice(0), ['add offsets', ...lookups, 'commit offsets']);
    }
    await producer.end(true);
    await begin();
    await producer.sendOffsets('group', 'in', offsets);
    assert.deepEqual(calls.splice(0), [lookup, 'end true', add, 'add offsets', 'commit offsets']);
  });

  it('write to two partitions at a time, and to each partition in order', async () => {
    const inFlight: (number | undefined)[] = [];
    let most = 0;
    const { sent } = await producerTo(async (attempt) => {
      const partition = sent[attempt - 1]?.partition;
      assert.ok(!inFlight.includes(partition), `partition ${partition} has one in flight`);
      inFlight.push(partition);
      most = Math.max(most, inFlight.length);
      await turn();
      inFlight.splice(inFlight.indexOf(partition), 1);
    }, 6);
    const lookUp = async () => ({ partitions: 6, maxMessageBytes: 300 });
    const producer = new KafkaShardProducer(
      [0],
      { brokers: ['127.0.0.1:1'], clientId: 'client' },
      { groupId: 'group', sourceTopic: 'in', journalTopic: 'journal', pool },
      lookUp,
      new RecordingLogger(),
    );
    const records = EncodedRecords.of(
      Array.from({ length: 60 }, (_, n) => ({ key: `k${n}`, value: 'v'.repeat(50) })),
    );
    await producer.commit({
      journal: [{ key: 'a', value: '1' }],
      outputs: [{ topic: 'out', records }],
    });
    assert.equal(most, 2);
    const outputs = Map.groupBy(sent.slice(1), ({ partition }) => partition);
    assert.equal(outputs.size, 6);
    for (const [partition, batches] of outputs) {
      const sequences = batches.map(({ sequence }) => sequence);
      assert.deepEqual(
        sequences,
        sequences.toSorted((a, b) => a - b),
        `partition ${partition}`,
      );
      assert.ok(batches.length > 1);
    }
    await producer.close();
  });

  it('stop after one of them has failed', async () => {
    const { sent } = await producerTo(async (attempt) => {
      await turn();
      // MESSAGE_TOO_LARGE
      if (attempt === 2) throw createErrorFromCode(10);
    }, 6);
    const producer = new KafkaShardProducer(
      [0],
      { brokers: ['127.0.0.1:1'], clientId: 'client' },
      { groupId: 'group', sourceTopic: 'in', journalTopic: 'journal', pool },
      async () => ({ partitions: 6, maxMessageBytes: 300 }),
      new RecordingLogger(),
    );
    const lent = pool.lentBytes;
    const records = EncodedRecords.of(
      Array.from({ length: 60 }, (_, n) => ({ key: `k${n}`, value: 'v'.repeat(50) })),
    );
    await assert.rejects(
      producer.commit({
        journal: [{ key: 'a', value: '1' }],
        outputs: [{ topic: 'out', records }],
      }),
      /MESSAGE_TOO_LARGE/,
    );
    for (let turns = 0; turns < 5; turns++) await turn();
    assert.deepEqual(
      sent.map(({ partition }) => partition),
      [0, 0, 1],
    );
    assert.equal(pool.lentBytes, lent);
    await producer.close();
  });
});

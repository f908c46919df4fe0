import assert from 'node:assert/strict';
import { it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { BufferPool } from '../../../../src/core/bytes/buffer-pool.ts';
import { EncodedRecords } from '../../../../src/core/bytes/encoded-records.ts';
import { TransactionError } from '../../../../src/core/ports/kafka.ts';
import type { WritableTopic } from '../../../../src/kafka/admin/admin.ts';
import { KafkaShardProducer } from '../../../../src/kafka/producer/shard-producer.ts';
import { RecordingLogger } from '../../../support/memory/telemetry/recording-telemetry.ts';

it('a transaction no longer reads its records after its caller has received the failure', async () => {
  const pool = new BufferPool(0);
  const looked = Promise.withResolvers<void>();
  const known = Promise.withResolvers<WritableTopic>();
  const producer = new KafkaShardProducer(
    [0],
    { brokers: ['127.0.0.1:1'], clientId: 'c' },
    { groupId: 'g', sourceTopic: 's', journalTopic: 'j', pool, transactionTimeoutMs: 20 },
    async () => {
      looked.resolve();
      return await known.promise;
    },
    new RecordingLogger(),
  );
  const records = EncodedRecords.of([{ key: 'k', value: 'v' }]);
  const commit = producer.commit({
    journal: [{ key: 'a', value: '1' }],
    outputs: [{ topic: 'out', records }],
  });
  await looked.promise;
  await assert.rejects(
    commit,
    (error) => error instanceof TransactionError && error.failure === 'aborted',
  );
  let reads = 0;
  records.hashKey = () => ++reads;
  known.resolve({ partitions: 1, maxMessageBytes: undefined });
  await turn();
  assert.equal(reads, 0);
  assert.equal(pool.lentBytes, 0);
  await producer.close();
});

it('a fence fails if it takes longer than the transaction timeout', async () => {
  const producer = new KafkaShardProducer(
    [],
    { brokers: ['127.0.0.1:1'], clientId: 'c' },
    {
      groupId: 'g.replay',
      sourceTopic: 's',
      journalTopic: 'dead',
      pool: new BufferPool(0),
      transactionTimeoutMs: 20,
    },
    () => Promise.reject(new Error('not used')),
    new RecordingLogger(),
    'g.replay',
  );
  await assert.rejects(
    producer.fence(),
    (error) => error instanceof TransactionError && /longer than 20 ms/.test(error.message),
  );
  await producer.close();
});

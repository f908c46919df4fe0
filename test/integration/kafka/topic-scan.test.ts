/** Topics read without a group: bounds, times, and reads that wait for open transactions. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { KafkaAdmin } from '../../../src/kafka/admin/admin.ts';
import { KafkaTopicScan } from '../../../src/kafka/admin/topic-scan.ts';
import { connectKafka, requestFailure } from '../../../src/kafka/index.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';
import { testKafka, uniqueName } from '../../support/kafka/kafka.ts';

const kafka = await testKafka();
const connection = connectKafka(
  { brokers: kafka.brokers, clientId: 'scan-test' },
  createLogger({ level: 'silent' }),
);
const scan = connection.scan();
after(async () => {
  await scan.close();
  await connection.close();
});

test('with an open transaction the stable end is before the end, and a read up to the end waits for it', async () => {
  const topic = await kafka.createTopic('scan', { partitions: 2 });
  const transactionalId = uniqueName('open');
  await kafka.write(topic, [{ value: 'a' }, { value: 'b' }, { partition: 1, value: 'c' }]);
  await kafka.writeTransaction(topic, [{ value: 'open' }], 'open', {
    transactionalId,
    timeoutMs: 300_000,
  });
  await kafka.write(topic, [{ value: 'behind' }]);
  assert.deepEqual(
    [...(await scan.bounds(topic))],
    [
      [0, { start: 0, stable: 2, end: 4 }],
      [1, { start: 0, stable: 1, end: 1 }],
    ],
  );

  const seen: string[] = [];
  const stableSeen = Promise.withResolvers<void>();
  const signal = new AbortController().signal;
  const reading = scan.read(
    topic,
    { partition: 0, from: 0, until: 4 },
    ({ records }) => {
      for (const { value } of records) seen.push(String(value));
      stableSeen.resolve();
    },
    signal,
  );
  await stableSeen.promise;
  assert.deepEqual(seen, ['a', 'b']);
  // A new producer with the same id aborts the open transaction.
  await kafka.writeTransaction(topic, [{ partition: 1, value: 'next' }], 'commit', {
    transactionalId,
  });
  await reading;
  assert.deepEqual(seen, ['a', 'b', 'behind']);
});

test('the scan returns the first offset of a time, the end if no record is newer, and the start after a deletion', async () => {
  const topic = await kafka.createTopic('scan', { partitions: 2 });
  const written = [1_000_000, 2_000_000, 3_000_000].map((timestampMs) => ({
    value: 'x',
    timestampMs,
  }));
  await kafka.write(topic, written);
  assert.deepEqual(
    [...(await scan.firstAt(topic, 1_500_000))],
    [
      [0, 1],
      [1, 0],
    ],
  );
  assert.equal((await scan.firstAt(topic, 3_000_001)).get(0), 3);
  assert.equal((await scan.firstAt(topic, -5)).get(0), 0);
  await (await kafka.admin()).deleteTopicRecords({
    topic,
    partitions: [{ partition: 0, offset: '2' }],
  });
  assert.deepEqual((await scan.bounds(topic)).get(0), { start: 2, stable: 3, end: 3 });
});

test('a group that was never used has no members, and a missing topic is named', async () => {
  assert.equal(await scan.members(uniqueName('group')), 0);
  const topic = uniqueName('none');
  await assert.rejects(scan.bounds(topic), new RegExp(`topic ${topic}`));
});

test('a failed connection is reopened for the next request, and its failure is classified', async () => {
  const topic = await kafka.createTopic('anew');
  const options = { brokers: ['127.0.0.1:1'], clientId: 'scan-test', connectionTimeoutMs: 1_000 };
  const logger = createLogger({ level: 'silent' });
  const admin = new KafkaAdmin(options, logger);
  const again = new KafkaTopicScan(options, admin, logger);
  const failed = await again.bounds(topic).then(
    () => assert.fail('no server listens there'),
    (error: unknown) => error,
  );
  assert.equal(requestFailure(failed), 'unreachable');
  options.brokers = [...kafka.brokers];
  assert.equal((await again.bounds(topic)).size, 1);
  await again.close();
  await admin.close();
});

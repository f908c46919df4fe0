import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testKafka } from '../../support/kafka/kafka.ts';
import { headerList } from '../../support/records/headers.ts';

const kafka = await testKafka();

test('what is written to a partition comes back from it with key, headers, timestamp and offset', async () => {
  const topic = await kafka.createTopic('round-trip', { partitions: 3 });
  const written = await kafka.write(topic, [
    {
      partition: 2,
      key: 'k',
      value: 'first',
      headers: headerList({ h: ['a', null, 'b'], one: Buffer.from([0, 255]) }),
      timestampMs: 1_700_000_000_000,
    },
    { partition: 0, value: null },
    { partition: 2, key: null, value: Buffer.from([1, 2, 3]) },
  ]);
  assert.deepEqual(written, [
    { partition: 2, offset: 0 },
    { partition: 0, offset: 0 },
    { partition: 2, offset: 1 },
  ]);
  const [nothing, first, second] = await kafka.readAll(topic);
  assert.deepEqual([nothing?.partition, nothing?.key, nothing?.value], [0, null, null]);
  assert.equal(first?.timestampMs, 1_700_000_000_000);
  assert.deepEqual(
    first?.headers,
    headerList({ h: [Buffer.from('a'), null, Buffer.from('b')], one: Buffer.from([0, 255]) }),
  );
  assert.deepEqual(
    [second?.partition, second?.offset, second?.value],
    [2, 1, Buffer.from([1, 2, 3])],
  );
});

test('records of aborted and open transactions are not read, those around them are', async () => {
  const topic = await kafka.createTopic('transactions');
  await kafka.write(topic, [{ value: 'plain' }]);
  await kafka.writeTransaction(
    topic,
    [{ key: Buffer.alloc(4), value: 'aborted with a key of four zero bytes' }],
    'abort',
  );
  await kafka.writeTransaction(topic, [{ value: 'committed' }], 'commit');
  await kafka.writeTransaction(topic, [{ value: 'aborted' }], 'abort');
  const read = async (options = {}) =>
    (await kafka.readAll(topic, options)).map(({ value }) => String(value));
  assert.deepEqual(await read(), ['plain', 'committed']);
  await kafka.writeTransaction(topic, [{ value: 'open' }], 'open', {
    transactionalId: `${topic}-open`,
  });
  await kafka.write(topic, [{ value: 'behind the open one' }]);
  assert.deepEqual(await read(), ['plain', 'committed']);
  assert.equal((await read({ uncommitted: true })).length, 6);
  // The same id again aborts what it left open.
  await kafka.writeTransaction(topic, [{ value: 'last' }], 'commit', {
    transactionalId: `${topic}-open`,
  });
  assert.deepEqual(await read(), ['plain', 'committed', 'behind the open one', 'last']);
});

test('a reader continues where it stopped and waits for what is still to come', async () => {
  const topic = await kafka.createTopic('reader', { partitions: 2 });
  const reader = kafka.reader(topic);
  const records = Array.from({ length: 12_000 }, (_, index) => ({
    partition: index % 2,
    value: `${index} ${'x'.repeat(200)}`,
  }));
  const writing = kafka.write(topic, records);
  assert.equal((await reader.readCount(12_000)).length, 12_000);
  await writing;
  assert.deepEqual(await reader.readToEnd(), []);
  await kafka.write(topic, [{ partition: 1, value: 'one more' }]);
  assert.deepEqual(
    (await reader.readToEnd()).map(({ value }) => String(value)),
    ['one more'],
  );
});

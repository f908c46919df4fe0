/** Reason for a consumer of our own (docs/consuming.md, Node): kafkajs as it is mixes up aborted transactions. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { RecordProducer } from '../../../../dev/kafka/send-records.ts';
import { eventually } from '../../../../test/support/eventually.ts';
import { testKafka, uniqueName } from '../../../../test/support/kafka/kafka.ts';
import { consumeDecisions } from '../../src/index.ts';

const kafka = await testKafka();
const STOCK = fileURLToPath(new URL('./stock-reader.ts', import.meta.url));
const LAST = 'committed';
const reached = (values: readonly string[]) =>
  eventually('the last value is read', () => values.includes(LAST), { deadlineMs: 30_000 });

test('stock kafkajs delivers a record of an aborted transaction when transactions overlap; this consumer does not', async () => {
  const topic = await kafka.createTopic('decisions');
  const producer = (n: number) =>
    new RecordProducer(kafka.brokers, { transactionalId: `${topic}-${n}` });
  const [first, second] = [producer(1), producer(2)];
  const send = (to: RecordProducer, value: string) => to.send(topic, 0, [{ key: 'k', value }]);
  await first.begin(topic, [0]);
  await send(first, 'aborted last');
  await second.begin(topic, [0]);
  await send(second, 'aborted first');
  // Brokers list aborted transactions by their ends; kafkajs expects them by their beginnings.
  await second.end(false);
  // An end is acknowledged before its marker is in the log; the producer's next transaction begins after it.
  await second.begin(topic, [0]);
  await first.end(false);
  await send(second, LAST);
  await second.end(true);
  await Promise.all([first, second].map((one) => one.close()));

  const stock: string[] = [];
  const child = spawn(process.execPath, ['--no-warnings', STOCK, kafka.brokers.join(), topic], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  after(() => child.kill('SIGKILL'));
  createInterface({ input: child.stdout }).on('line', (line) => stock.push(line));

  const ours: string[] = [];
  const consumer = await consumeDecisions({
    brokers: kafka.brokers,
    group: uniqueName('ours'),
    decisions: topic,
    process({ records }) {
      for (const record of records)
        if (record.kind === 'unreadable') ours.push(String(record.record?.value));
    },
  });
  after(() => consumer.stop());
  await reached(ours);
  assert.deepEqual(ours, [LAST]);
  await reached(stock);
  assert.deepEqual(stock, ['aborted last', LAST]);
});

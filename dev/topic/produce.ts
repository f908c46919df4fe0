/**
 * Writes each line of standard input to a topic as the value of a record, and prints its place:
 *
 *   npm run produce -- TOPIC [--key KEY | --key-field NAME] [--brokers LIST] < events.jsonl
 *
 * A key gets the partition that Java's default partitioner chooses. Records without a key rotate over all partitions.
 */
import { createInterface } from 'node:readline';
import { escapeUnprintable } from '../../packages/client/src/base/shown-text.ts';
import { connectKafka } from '../../src/kafka/index.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import { partitionOf } from '../kafka/partitioner.ts';
import { RecordProducer } from '../kafka/send-records.ts';
import { runCommand, topicArguments, UsageError } from './arguments.ts';

const USAGE =
  'usage: npm run produce -- TOPIC [--key KEY | --key-field NAME] [--brokers HOST:PORT,…] < events.jsonl';

await runCommand(async () => {
  const { values, topic, brokers } = topicArguments(USAGE, {
    key: { type: 'string' },
    'key-field': { type: 'string' },
  });
  const partitions = await partitionsOf(brokers, topic);
  const producer = new RecordProducer(brokers);
  try {
    await producer.begin(topic, Array(partitions).keys());
    let count = 0;
    for await (const line of createInterface({ input: process.stdin })) {
      if (line.trim() === '') continue;
      const key = values.key ?? keyIn(line, values['key-field']);
      const partition = key === null ? count % partitions : partitionOf(key, partitions);
      const record = { key: key === null ? null : Buffer.from(key), value: Buffer.from(line) };
      const [offset] = await producer.send(topic, partition, [{ ...record, headers: [] }]);
      process.stdout.write(
        escapeUnprintable(`${partition}:${offset}${key === null ? '' : ` ${key}`}`).concat('\n'),
      );
      count += 1;
    }
  } finally {
    await producer.close();
  }
});

async function partitionsOf(brokers: readonly string[], topic: string): Promise<number> {
  const kafka = connectKafka({ brokers, clientId: 'produce' }, createLogger({ level: 'silent' }));
  try {
    const found = await kafka.admin.describeTopic(topic);
    if (found === undefined) throw new UsageError(`topic ${topic} does not exist`);
    return found.partitions;
  } finally {
    await kafka.close();
  }
}

/** Returns a member of the event as a string, or null if there is none. */
function keyIn(line: string, field: string | undefined): string | null {
  if (field === undefined) return null;
  const value = (JSON.parse(line) as Readonly<Record<string, unknown>> | null)?.[field];
  if (value === undefined || value === null) return null;
  return typeof value === 'string' ? value : JSON.stringify(value);
}

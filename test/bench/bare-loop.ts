/**
 * Baseline of the benchmark: kafkajs consumes and republishes records in transactions with the offsets, as
 * fast as it can. Runs in its own process: `bare-loop.ts BROKERS SOURCE OUTPUT GROUP RECORDS`. Prints JSON:
 * seconds from the first fetched batch to the commit of the last record, and the peak memory.
 */
import { Kafka, logLevel } from 'kafkajs';

const [brokers = '', source = '', output = '', group = '', count = '0'] = process.argv.slice(2);
const PER_TRANSACTION = 5_000;

const client = () =>
  new Kafka({
    brokers: brokers.split(','),
    clientId: 'bare-loop',
    logLevel: logLevel.NOTHING,
    retry: { initialRetryTime: 5, maxRetryTime: 1_000, retries: 60 },
  });
const explicitPartition = () => (args: { message: { partition?: number } }) =>
  args.message.partition ?? 0;
const producer = client().producer({
  idempotent: true,
  transactionalId: `${group}-bare`,
  maxInFlightRequests: 1,
  createPartitioner: explicitPartition,
});
const consumer = client().consumer({
  groupId: group,
  maxBytes: 8 * 1024 * 1024,
  maxWaitTimeInMs: 100,
  readUncommitted: false,
});

await producer.connect();
await consumer.connect();
await consumer.subscribe({ topic: source, fromBeginning: true });
let done = 0;
let startedAt = 0;
let startedCpu = process.cpuUsage();
const finished = Promise.withResolvers<void>();
await consumer.run({
  autoCommit: false,
  eachBatchAutoResolve: true,
  eachBatch: async ({ batch }) => {
    if (startedAt === 0) [startedAt, startedCpu] = [performance.now(), process.cpuUsage()];
    for (let at = 0; at < batch.messages.length; at += PER_TRANSACTION) {
      const messages = batch.messages.slice(at, at + PER_TRANSACTION);
      const transaction = await producer.transaction();
      await transaction.send({
        topic: output,
        acks: -1,
        messages: messages.map(({ key, value, headers }) => ({
          key,
          value,
          headers: headers ?? {},
          partition: batch.partition,
        })),
      });
      await transaction.sendOffsets({
        consumerGroupId: group,
        topics: [
          {
            topic: source,
            partitions: [
              { partition: batch.partition, offset: String(Number(messages.at(-1)?.offset) + 1) },
            ],
          },
        ],
      });
      await transaction.commit();
      done += messages.length;
    }
    if (done >= Number(count)) finished.resolve();
  },
});
await finished.promise;
const seconds = (performance.now() - startedAt) / 1000;
const { user, system } = process.cpuUsage(startedCpu);
const cpuSeconds = (user + system) / 1e6;
process.stdout.write(
  `${JSON.stringify({ seconds, cpuSeconds, records: done, maxRssKiB: process.resourceUsage().maxRSS })}\n`,
);
await consumer.disconnect();
await producer.disconnect();
process.exit(0);

/** Latency that the connector adds, from finished results to readable decisions. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { TestKafka } from '../support/kafka/kafka.ts';
import { RawProducer } from '../support/kafka/raw-producer.ts';
import { TopicReader } from '../support/stack/topic-reader.ts';
import { type Load, write } from './load.ts';
import { type ConnectorSetup, withConnector } from './rounds.ts';

const PER_SECOND = 1_000;
const SECONDS = 30;
const TICK_MS = 50;

export interface Latency {
  readonly medianMs: number;
  readonly p99Ms: number;
}

/** Measures with 1,000 events per second, batches of one second, reviews of half a second, and default polling. */
export async function measureLatency(
  kafka: TestKafka,
  directory: string,
  setup: Omit<ConnectorSetup, 'topic' | 'records'>,
  load: Load,
): Promise<Latency> {
  const topic = await kafka.createTopic('latency', { partitions: load.partitions });
  return await withConnector(
    kafka,
    directory,
    { ...setup, topic, records: 0 },
    async (stack, replica) => {
      await replica.logged('owns the shard');
      const reader = new TopicReader(kafka.brokers, stack.topics.decisions);
      /** Batch → time when its first decision became readable, and number of decisions. */
      const readable = new Map<string, { atMs: number; decisions: number }>();
      const total = PER_SECOND * SECONDS;
      const began = Date.now();
      const done = AbortSignal.timeout((SECONDS + 60) * 1000);
      let seen = 0;
      const producer = new RawProducer(kafka.brokers);
      const producing = (async () => {
        for (let written = 0; written < total; await sleep(TICK_MS)) {
          const due = Math.min(total, Math.floor(((Date.now() - began) * PER_SECOND) / 1000));
          await write(producer, topic, load, written, due);
          written = due;
        }
      })();
      while (seen < total) {
        done.throwIfAborted();
        await reader.forEachToEnd(({ value }) => {
          seen++;
          const { batch } = JSON.parse(String(value)) as { batch: { id: string } };
          const known = readable.get(batch.id);
          if (known === undefined) readable.set(batch.id, { atMs: Date.now(), decisions: 1 });
          else known.decisions++;
        });
        await sleep(2);
      }
      await producing;
      await producer.close();
      await reader.close();
      const { jobs } = (await (await fetch(`${stack.sandboxUrl}/bench/jobs`)).json()) as {
        jobs: { id: string; doneMs: number }[];
      };
      const doneMs = new Map(jobs.map((job) => [job.id, job.doneMs]));
      const latencies: number[] = [];
      for (const [id, { atMs, decisions }] of readable)
        for (let n = 0; n < decisions; n++) latencies.push(atMs - (doneMs.get(id) ?? Number.NaN));
      latencies.sort((a, b) => a - b);
      const at = (share: number) => latencies[Math.floor(latencies.length * share)] ?? Number.NaN;
      return { medianMs: at(0.5), p99Ms: at(0.99) };
    },
  );
}

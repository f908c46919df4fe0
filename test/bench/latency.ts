/** What the connector adds at the end: from the moment results are there to the moment a reader sees the decisions. */
import { mkdtempSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TestKafka } from '../support/kafka.ts';
import { startStack } from '../support/stack.ts';

const BATCHES = 40;
const ROWS = 10;

export interface Latency {
  readonly medianMs: number;
  readonly p95Ms: number;
  readonly batches: number;
}

/** A light load: small batches one after the other, a review of half a second, the connector's default polling. */
export async function measureLatency(kafka: TestKafka, directory: string): Promise<Latency> {
  const stack = await startStack(kafka, mkdtempSync(path.join(directory, 'latency-')), {
    partitions: 1,
    policy: { timing: { reviewTime: '500ms' } },
    pipeline: { batch: { maxRows: ROWS, maxAge: '30s' } },
  });
  try {
    const replica = await stack.startReplica();
    await replica.logged('owns the shard');
    const reader = kafka.reader(stack.topics.decisions);
    const readableMs = new Map<string, number>();
    const total = BATCHES * ROWS;
    let decisions = 0;
    let produced = 0;
    while (decisions < total) {
      if (produced < total && produced - decisions < 4 * ROWS) {
        await kafka.write(
          stack.topics.source,
          Array.from({ length: ROWS }, (_, n) => ({ value: JSON.stringify({ type: 'post', content: `text ${produced + n}` }) })),
        );
        produced += ROWS;
      }
      for (const record of await reader.readToEnd()) {
        decisions++;
        const { batch } = JSON.parse(String(record.value)) as { batch: { id: string } };
        if (!readableMs.has(batch.id)) readableMs.set(batch.id, Date.now());
      }
      await sleep(2);
    }
    const { batches } = (await (await fetch(`${stack.sandboxUrl}/sandbox/batches`)).json()) as {
      batches: { batch_id: string; finished: string }[];
    };
    const latencies = batches
      .map(({ batch_id, finished }) => (readableMs.get(batch_id) ?? Number.NaN) - Date.parse(finished))
      .sort((a, b) => a - b);
    return {
      medianMs: latencies[Math.floor(latencies.length / 2)] ?? Number.NaN,
      p95Ms: latencies[Math.floor(latencies.length * 0.95)] ?? Number.NaN,
      batches: latencies.length,
    };
  } finally {
    await stack.stop();
  }
}

/** Reads topics as any consumer of them would: committed records only, from the beginning, in a group of its own. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Consumer } from 'kafkajs';
import type { RecordHeaders } from '../../src/core/record.ts';
import {
  ADMIT_ALL,
  OWN_TOPIC_LIMITS,
  type PartitionFetch,
} from '../../src/kafka/consumer/partition-fetch.ts';
import { demoClient } from './topics.ts';

export interface CommittedRecord {
  readonly topic: string;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: RecordHeaders;
}

export interface ReaderOptions {
  readonly brokers: readonly string[];
  /** Commits nothing; deleted by whoever chose it. */
  readonly groupId: string;
  readonly topics: readonly string[];
  readonly onRecord: (record: CommittedRecord) => void;
}

const POLL_MS = 20;

export class CommittedReader {
  readonly #options: ReaderOptions;
  readonly #consumer: Consumer;
  /** Next offset of each partition, by `<topic>-<partition>`. */
  readonly #positions = new Map<string, number>();
  readonly #crashed = Promise.withResolvers<never>();

  constructor(options: ReaderOptions) {
    this.#options = options;
    this.#crashed.promise.catch(() => undefined);
    this.#consumer = demoClient(options.brokers).consumer({
      groupId: options.groupId,
      allowAutoTopicCreation: false,
      readUncommitted: false,
      maxWaitTimeInMs: 100,
    });
  }

  /** Reads until `close`. */
  async start(): Promise<void> {
    const { topics, onRecord } = this.#options;
    const { CRASH } = this.#consumer.events;
    this.#consumer.on(CRASH, ({ payload }) => {
      if (!payload.restart)
        this.#crashed.reject(
          new Error(`cannot read ${topics.join(', ')}`, { cause: payload.error }),
        );
    });
    await this.#consumer.connect();
    await this.#consumer.subscribe({ topics: [...topics], fromBeginning: true });
    await this.#consumer.run({
      autoCommit: false,
      eachBatch: async ({ batch }) => {
        const { topic } = batch;
        for await (const { records } of (batch as unknown as PartitionFetch).pieces(
          OWN_TOPIC_LIMITS,
          ADMIT_ALL,
        )) {
          for (const { key, value, headers } of records) onRecord({ topic, key, value, headers });
        }
        this.#positions.set(`${batch.topic}-${batch.partition}`, Number(batch.lastOffset()) + 1);
      },
    });
  }

  /** Resolves when everything that is in the topics now was read. @throws Error when the consumer cannot go on. */
  async readToEnd(signal?: AbortSignal): Promise<void> {
    const ends = await this.#ends();
    while (![...ends].every(([partition, end]) => (this.#positions.get(partition) ?? 0) >= end)) {
      await Promise.race([
        sleep(POLL_MS, undefined, signal === undefined ? {} : { signal }),
        this.#crashed.promise,
      ]);
    }
  }

  async close(): Promise<void> {
    await this.#consumer.disconnect();
  }

  async #ends(): Promise<Map<string, number>> {
    const admin = demoClient(this.#options.brokers).admin();
    await admin.connect();
    try {
      const ends = new Map<string, number>();
      for (const topic of this.#options.topics) {
        for (const { partition, offset } of await admin.fetchTopicOffsets(topic))
          ends.set(`${topic}-${partition}`, Number(offset));
      }
      return ends;
    } finally {
      await admin.disconnect();
    }
  }
}

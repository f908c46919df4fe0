/** Topics of the demo, and the consumer of its outputs. */
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Admin } from 'kafkajs';
import type { RecordHeaders } from '../../src/core/record.ts';
import { OWN_TOPIC_LIMITS, type PartitionFetch } from '../../src/kafka/kafkajs/partition-fetch.ts';
import { Kafka, logLevel } from '../../src/kafka/kafkajs/patches.ts';

/** The pipelines of the demo, each named after its kind. */
export const PIPELINES = ['review', 'import', 'lookup'] as const;
export type PipelineName = (typeof PIPELINES)[number];

export interface PipelineNames {
  readonly source: string;
  /** Partitions of the source. */
  readonly partitions: number;
  readonly outcomes: string;
  readonly deadLetters: string;
  readonly journal: string;
  readonly group: string;
}

/** Names of everything that the demo creates in the cluster; `config/demo.yaml` has the same. */
export interface DemoNames {
  /** Begins every name; empty on a broker of the demo's own. */
  readonly prefix: string;
  readonly readerGroup: string;
  readonly pipelines: Readonly<Record<PipelineName, PipelineNames>>;
}

const CREATE_MS = 15_000;
const POLL_MS = 25;

export const uniquePrefix = (): string => `demo-${randomBytes(4).toString('hex')}-`;

export function namesWith(prefix: string): DemoNames {
  const names = (pipeline: PipelineName, topic: string, outcomes: string, partitions: number) => ({
    source: `${prefix}${topic}`,
    partitions,
    outcomes: `${prefix}${topic}.${outcomes}`,
    deadLetters: `${prefix}${topic}.dead-letters`,
    journal: `${prefix}demo-${pipeline}.journal`,
    group: `${prefix}demo-${pipeline}`,
  });
  return {
    prefix,
    readerGroup: `${prefix}demo-reader`,
    pipelines: {
      review: names('review', 'emails', 'decisions', 3),
      import: names('import', 'user-data', 'receipts', 2),
      lookup: names('lookup', 'decision-ids', 'decisions', 1),
    },
  };
}

const kafkaClient = (brokers: readonly string[]) =>
  new Kafka({
    brokers: [...brokers],
    clientId: 'content-review-demo',
    logLevel: logLevel.NOTHING,
    connectionTimeout: 5_000,
    retry: { initialRetryTime: 50, maxRetryTime: 1_000, retries: 10 },
  });

async function withAdmin<T>(
  brokers: readonly string[],
  work: (admin: Admin) => Promise<T>,
): Promise<T> {
  const admin = kafkaClient(brokers).admin();
  await admin.connect();
  try {
    return await work(admin);
  } finally {
    await admin.disconnect();
  }
}

/** Creates the topics that users create; the connector creates the journals. Resolves when they have leaders. */
export async function createTopics(
  brokers: readonly string[],
  { pipelines }: DemoNames,
): Promise<void> {
  await withAdmin(brokers, async (admin) => {
    const topics = Object.values(pipelines).flatMap(
      ({ source, outcomes, deadLetters, partitions }) => [
        { topic: source, numPartitions: partitions, replicationFactor: -1 },
        { topic: outcomes, numPartitions: partitions, replicationFactor: -1 },
        { topic: deadLetters, numPartitions: 1, replicationFactor: -1 },
      ],
    );
    await admin.createTopics({ waitForLeaders: false, topics });
    const names = topics.map(({ topic }) => topic);
    const haveLeaders = async () => {
      // Metadata is updated some time after the creation.
      const found = await admin.fetchTopicMetadata({ topics: names }).catch(() => undefined);
      return found?.topics.every(
        ({ partitions }) => partitions.length > 0 && partitions.every(({ leader }) => leader >= 0),
      );
    };
    for (const deadlineMs = Date.now() + CREATE_MS; !(await haveLeaders()); await sleep(POLL_MS))
      if (Date.now() > deadlineMs)
        throw new Error(`no leaders for ${names.join(', ')} after ${CREATE_MS / 1_000} s`);
  });
}

/** Deletes the topics and groups of the demo. */
export async function deleteTopics(
  brokers: readonly string[],
  { prefix }: DemoNames,
): Promise<void> {
  // Without a prefix these are names that others may have chosen.
  if (prefix === '') return;
  await withAdmin(brokers, async (admin) => {
    const topics = (await admin.listTopics()).filter((topic) => topic.startsWith(prefix));
    if (topics.length > 0) await admin.deleteTopics({ topics });
    const groups = (await admin.listGroups()).groups.map(({ groupId }) => groupId);
    const own = groups.filter((group) => group.startsWith(prefix));
    if (own.length > 0) await admin.deleteGroups(own);
  });
}

export interface CommittedRecord {
  readonly topic: string;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: RecordHeaders;
}

/** Reads committed records of the outputs from their beginning, and commits nothing. */
export async function openReader(
  brokers: readonly string[],
  { pipelines, readerGroup }: DemoNames,
  onRecord: (record: CommittedRecord) => void,
  onFailure: (error: Error) => void,
) {
  const topics = Object.values(pipelines).flatMap((names) => [names.outcomes, names.deadLetters]);
  const consumer = kafkaClient(brokers).consumer({
    groupId: readerGroup,
    allowAutoTopicCreation: false,
    readUncommitted: false,
    maxWaitTimeInMs: 100,
  });
  /** Next offset by `<topic>-<partition>`. */
  const positions = new Map<string, number>();
  consumer.on(consumer.events.CRASH, ({ payload }) => {
    if (!payload.restart)
      onFailure(new Error(`cannot read ${topics.join(', ')}`, { cause: payload.error }));
  });
  await consumer.connect();
  await consumer.subscribe({ topics, fromBeginning: true });
  await consumer.run({
    autoCommit: false,
    eachBatch: async ({ batch }) => {
      const { topic, partition } = batch;
      const fetched = batch as unknown as PartitionFetch;
      // Nothing is committed, so a consumer that joins its group again begins at the start.
      const from = positions.get(`${topic}-${partition}`) ?? 0;
      for await (const { records } of fetched.pieces(OWN_TOPIC_LIMITS))
        for (const { offset, key, value, headers } of records)
          if (offset >= from) onRecord({ topic, key, value, headers });
      positions.set(`${topic}-${partition}`, Math.max(from, Number(batch.lastOffset()) + 1));
    },
  });
  return {
    close: () => consumer.disconnect(),
    /** Resolves when everything that is in the topics now was read. */
    async readToEnd(signal: AbortSignal): Promise<void> {
      const ends = await withAdmin(brokers, (admin) =>
        Promise.all(
          topics.map(async (topic) =>
            (await admin.fetchTopicOffsets(topic)).map(
              ({ partition, offset }) => [`${topic}-${partition}`, Number(offset)] as const,
            ),
          ),
        ),
      );
      while (!ends.flat().every(([partition, end]) => (positions.get(partition) ?? 0) >= end))
        await sleep(POLL_MS, undefined, { signal });
    },
  };
}

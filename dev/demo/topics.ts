/** The demo's topics: created at the start; deleted at the end where the cluster outlives the demo. */
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Admin } from 'kafkajs';
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

/** Everything that the demo makes in the cluster. `config/demo.yaml` puts the names together in the same way. */
export interface DemoNames {
  /** Before every name; empty on a broker of the demo's own. */
  readonly prefix: string;
  readonly readerGroup: string;
  readonly pipelines: Readonly<Record<PipelineName, PipelineNames>>;
}

const CREATE_MS = 15_000;
const POLL_MS = 25;

/** Plain names, or ones that nothing else in a shared cluster has. */
export function demoNames(sharedCluster: boolean): DemoNames {
  return namesWith(sharedCluster ? `demo-${randomBytes(4).toString('hex')}-` : '');
}

export function namesWith(prefix: string): DemoNames {
  const names = (
    pipeline: PipelineName,
    source: string,
    outcomes: string,
    partitions: number,
  ): PipelineNames => ({
    source: `${prefix}${source}`,
    partitions,
    outcomes: `${prefix}${source}.${outcomes}`,
    deadLetters: `${prefix}${source}.dead-letters`,
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

/** Returns the topics that the reader consumes. */
export function outputTopics({ pipelines }: DemoNames): string[] {
  return Object.values(pipelines).flatMap(({ outcomes, deadLetters }) => [outcomes, deadLetters]);
}

/** Creates the topics of users; the journals are the connector's own to make. Resolves when they can be used. */
export async function createTopics(
  brokers: readonly string[],
  { pipelines }: DemoNames,
): Promise<void> {
  await withAdmin(brokers, async (admin) => {
    const topics = Object.values(pipelines).flatMap(
      ({ source, outcomes, deadLetters, partitions }) => [
        { topic: source, numPartitions: partitions },
        { topic: outcomes, numPartitions: partitions },
        { topic: deadLetters, numPartitions: 1 },
      ],
    );
    await admin.createTopics({
      waitForLeaders: false,
      topics: topics.map((topic) => ({ ...topic, replicationFactor: -1 })),
    });
    const wanted = topics.map(({ topic }) => topic);
    for (const deadlineMs = Date.now() + CREATE_MS; !(await haveLeaders(admin, wanted)); ) {
      if (Date.now() > deadlineMs)
        throw new Error(`no leaders for ${wanted.join(', ')} after ${CREATE_MS / 1_000} s`);
      await sleep(POLL_MS);
    }
  });
}

async function haveLeaders(admin: Admin, topics: string[]): Promise<boolean> {
  try {
    const metadata = await admin.fetchTopicMetadata({ topics });
    return metadata.topics.every(
      ({ partitions }) => partitions.length > 0 && partitions.every(({ leader }) => leader >= 0),
    );
  } catch {
    // Metadata lag behind the creation.
    return false;
  }
}

/** Removes whatever of the demo is in the cluster. */
export async function deleteTopics(brokers: readonly string[], names: DemoNames): Promise<void> {
  await withAdmin(brokers, async (admin) => {
    const present = new Set(await admin.listTopics());
    const pipelines = Object.values(names.pipelines);
    const topics = pipelines
      .flatMap(({ source, outcomes, deadLetters, journal }) => [
        source,
        outcomes,
        deadLetters,
        journal,
      ])
      .filter((topic) => present.has(topic));
    if (topics.length > 0) await admin.deleteTopics({ topics });
    const { groups } = await admin.listGroups();
    const groupIds = [...pipelines.map(({ group }) => group), names.readerGroup].filter((id) =>
      groups.some(({ groupId }) => groupId === id),
    );
    if (groupIds.length > 0) await admin.deleteGroups(groupIds);
  });
}

export async function deleteGroup(brokers: readonly string[], groupId: string): Promise<void> {
  await withAdmin(brokers, (admin) => admin.deleteGroups([groupId]));
}

async function withAdmin<T>(
  brokers: readonly string[],
  work: (admin: Admin) => Promise<T>,
): Promise<T> {
  const admin = demoClient(brokers).admin();
  await admin.connect();
  try {
    return await work(admin);
  } finally {
    await admin.disconnect();
  }
}

/** Quiet: whoever uses it says what went wrong. */
export function demoClient(brokers: readonly string[]) {
  return new Kafka({
    brokers: [...brokers],
    clientId: 'content-review-demo',
    logLevel: logLevel.NOTHING,
    connectionTimeout: 5_000,
    retry: { initialRetryTime: 50, maxRetryTime: 1_000, retries: 10 },
  });
}

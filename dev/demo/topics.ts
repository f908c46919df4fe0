/** The demo's topics: created at the start; deleted at the end where the cluster outlives the demo. */
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Admin } from 'kafkajs';
import { Kafka, logLevel } from '../../src/kafka/kafkajs-fixes.ts';

/** Everything that the demo makes in the cluster. `config/demo.yaml` puts the names together in the same way. */
export interface DemoNames {
  /** Before every name; empty on a broker of the demo's own. */
  readonly prefix: string;
  readonly source: string;
  readonly decisions: string;
  readonly deadLetters: string;
  readonly journal: string;
  readonly group: string;
  readonly readerGroup: string;
}

export const SOURCE_PARTITIONS = 3;
const CREATE_MS = 15_000;
const POLL_MS = 25;

/** Plain names, or ones that nothing else in a shared cluster has. */
export function demoNames(sharedCluster: boolean): DemoNames {
  return namesWith(sharedCluster ? `demo-${randomBytes(4).toString('hex')}-` : '');
}

export function namesWith(prefix: string): DemoNames {
  return {
    prefix,
    source: `${prefix}content-events`,
    decisions: `${prefix}content-decisions`,
    deadLetters: `${prefix}content-dead-letters`,
    journal: `${prefix}content-review-demo.journal`,
    group: `${prefix}content-review-demo`,
    readerGroup: `${prefix}content-review-demo-reader`,
  };
}

/** Creates the three topics of users; the journal is the connector's own to make. Resolves when they can be used. */
export async function createTopics(brokers: readonly string[], names: DemoNames): Promise<void> {
  await withAdmin(brokers, async (admin) => {
    const topics = [
      { topic: names.source, numPartitions: SOURCE_PARTITIONS },
      { topic: names.decisions, numPartitions: SOURCE_PARTITIONS },
      { topic: names.deadLetters, numPartitions: 1 },
    ];
    await admin.createTopics({
      waitForLeaders: false,
      topics: topics.map((topic) => ({ ...topic, replicationFactor: -1 })),
    });
    const wanted = topics.map(({ topic }) => topic);
    for (const deadlineMs = Date.now() + CREATE_MS; !(await haveLeaders(admin, wanted)); ) {
      if (Date.now() > deadlineMs) throw new Error(`no leaders for ${wanted.join(', ')} after ${CREATE_MS / 1_000} s`);
      await sleep(POLL_MS);
    }
  });
}

async function haveLeaders(admin: Admin, topics: string[]): Promise<boolean> {
  try {
    const metadata = await admin.fetchTopicMetadata({ topics });
    return metadata.topics.every(({ partitions }) => partitions.length > 0 && partitions.every(({ leader }) => leader >= 0));
  } catch {
    // Metadata lag behind the creation.
    return false;
  }
}

/** Removes whatever of the demo is in the cluster. */
export async function deleteTopics(brokers: readonly string[], names: DemoNames): Promise<void> {
  await withAdmin(brokers, async (admin) => {
    const present = new Set(await admin.listTopics());
    const topics = [names.source, names.decisions, names.deadLetters, names.journal].filter((topic) => present.has(topic));
    if (topics.length > 0) await admin.deleteTopics({ topics });
    const { groups } = await admin.listGroups();
    const groupIds = [names.group, names.readerGroup].filter((id) => groups.some(({ groupId }) => groupId === id));
    if (groupIds.length > 0) await admin.deleteGroups(groupIds);
  });
}

export async function deleteGroup(brokers: readonly string[], groupId: string): Promise<void> {
  await withAdmin(brokers, (admin) => admin.deleteGroups([groupId]));
}

async function withAdmin<T>(brokers: readonly string[], work: (admin: Admin) => Promise<T>): Promise<T> {
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

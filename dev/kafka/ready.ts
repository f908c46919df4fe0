/** Waits until a cluster serves requests. It listens before its members, coordinators and replicas are ready. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Admin, Kafka as KafkaClient } from 'kafkajs';
import { Kafka, logLevel } from '../../src/kafka/kafkajs/patches.ts';
import { PortTaken } from '../process/server.ts';
import { INTERNAL_PARTITIONS } from './server-properties.ts';

const RETRY_MS = 25;
/** kafkajs rejects a transactional producer without retries. */
const TRANSACTIONAL_RETRY = { retries: 1, initialRetryTime: RETRY_MS };

export interface ReadyWait {
  readonly brokers: readonly string[];
  /** Number of brokers that must have joined. */
  readonly count: number;
  /** If the id differs, another cluster uses one of our ports. */
  readonly clusterId?: string;
  readonly deadlineMs: number;
  /** Aborted when a broker ends, which makes further waiting pointless. */
  readonly signal: AbortSignal;
}

/**
 * Resolves when every broker is a member, every partition of `__consumer_offsets` and
 * `__transaction_state` has a coordinator that has loaded it (a new broker returns
 * COORDINATOR_LOAD_IN_PROGRESS for a while), and no replica on a living broker lags behind.
 * @throws Error that names what was missing at the deadline, or the signal's reason
 */
export async function untilReady(wait: ReadyWait): Promise<void> {
  const kafka = quietClient(wait.brokers);
  const admin = kafka.admin();
  try {
    await persist(wait, 'the brokers do not respond', () => admin.connect());
    await persist(wait, 'not all brokers have joined', async () => {
      const { brokers, clusterId } = await admin.describeCluster();
      if (wait.clusterId !== undefined && clusterId !== wait.clusterId)
        throw new PortTaken(`another cluster responds: ${clusterId}`);
      if (brokers.length < wait.count) throw new Error(`${brokers.length} of ${wait.count}`);
    });
    const keys = keysOfEveryPartition();
    await persist(wait, 'the group coordinators are not ready', () =>
      Promise.all(keys.map((groupId) => admin.fetchOffsets({ groupId, topics: [] }))),
    );
    await Promise.all(
      keys.map((id) =>
        persist(wait, 'the transaction coordinators are not ready', () =>
          touchTransactions(kafka, id),
        ),
      ),
    );
    await persist(wait, 'replicas lag behind', () => replicasInSync(admin));
  } finally {
    await admin.disconnect().catch(() => undefined);
  }
}

function quietClient(brokers: readonly string[]): KafkaClient {
  return new Kafka({
    clientId: 'local-kafka',
    brokers: [...brokers],
    logLevel: logLevel.NOTHING,
    connectionTimeout: 1_000,
    requestTimeout: 5_000,
    // Only the loop below retries.
    retry: { retries: 0 },
  });
}

/** Requests a producer id, which needs the coordinator of the transactional id, and aborts its transaction. */
async function touchTransactions(kafka: KafkaClient, transactionalId: string): Promise<void> {
  const producer = kafka.producer({
    transactionalId,
    maxInFlightRequests: 1,
    idempotent: true,
    retry: TRANSACTIONAL_RETRY,
  });
  try {
    await producer.connect();
    const transaction = await producer.transaction();
    await transaction.abort();
  } finally {
    await producer.disconnect().catch(() => undefined);
  }
}

async function replicasInSync(admin: Admin): Promise<void> {
  const living = new Set((await admin.describeCluster()).brokers.map(({ nodeId }) => nodeId));
  for (const { name, partitions } of (await admin.fetchTopicMetadata()).topics) {
    for (const { partitionId, leader, replicas, isr } of partitions) {
      const behind = replicas.filter((id) => living.has(id) && !isr.includes(id));
      if (leader < 0 || behind.length > 0)
        throw new Error(`${name}-${partitionId}: leader ${leader}, behind ${behind.join()}`);
    }
  }
}

/** Repeats an attempt until it succeeds, the deadline passes, or the signal is aborted. */
async function persist<T>(
  { deadlineMs, signal }: ReadyWait,
  waitingFor: string,
  attempt: () => Promise<T>,
): Promise<T> {
  for (;;) {
    signal.throwIfAborted();
    try {
      return await attempt();
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof PortTaken) throw error;
      if (Date.now() > deadlineMs) {
        throw new Error(
          `${waitingFor}: ${error instanceof Error ? error.message : String(error)}`,
          { cause: error },
        );
      }
    }
    await sleep(RETRY_MS);
  }
}

/** Returns one key per partition of an internal topic. Together they use every coordinator. */
function keysOfEveryPartition(): string[] {
  const keys = new Map<number, string>();
  while (keys.size < INTERNAL_PARTITIONS) {
    const key = `local-kafka-ready-${randomUUID()}`;
    keys.set(coordinatorPartition(key), key);
  }
  return [...keys.values()];
}

/** Chooses a partition like the broker: the absolute value of Java's String.hashCode, modulo the number of partitions. */
function coordinatorPartition(key: string): number {
  let hash = 0;
  for (let index = 0; index < key.length; index++)
    hash = (Math.imul(hash, 31) + key.charCodeAt(index)) | 0;
  return (hash === -(2 ** 31) ? 0 : Math.abs(hash)) % INTERNAL_PARTITIONS;
}

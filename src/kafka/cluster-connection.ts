/** Connection to the cluster for individual requests, without a consumer. Retries transient failures. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { PartitionRange, TopicSpec } from '../core/ports/kafka.ts';
import type { Logger } from '../core/ports/telemetry.ts';
import { Client, type ConnectOptions, clusterOf } from './connect.ts';
import { explain, isTransient, protocolErrorOf, type RequestedAccess, toOffset } from './errors.ts';
import { ConfigResourceTypes } from './kafkajs/patches.ts';
import type { KafkaBroker, KafkaCluster, PartitionMetadata } from './kafkajs/shapes.ts';

/** Retries of requests that kafkajs itself sends to connect and to fetch metadata. */
const RETRY = { initialRetryTime: 100, retries: 2 };
const METADATA_MAX_AGE_MS = 300_000;
const CLOSE_GRACE_MS = 500;
const PATIENCE_MS = 3_000;
/** Pause before the first retry; doubles. Short, because writing a transaction's markers takes a few ms. */
const FIRST_RETRY_MS = 5;
const MAX_RETRY_MS = 2_000;

interface OpenCluster {
  readonly client: Client;
  readonly cluster: KafkaCluster;
  requests: number;
}

/** Connects at the first request, and again after a close or a permanent failure of a request. */
export class ClusterConnection {
  readonly #connect: ConnectOptions;
  readonly #logger: Logger;
  readonly #patienceMs: number;
  #open: OpenCluster | undefined;
  #closed = false;
  /** Explanation of the last transient failure, if no request has succeeded since. */
  lastFailure: string | undefined;

  /** @param patienceMs time in which a request is retried after its first failure */
  constructor(connect: ConnectOptions, logger: Logger, patienceMs = PATIENCE_MS) {
    this.#connect = connect;
    this.#logger = logger;
    this.#patienceMs = patienceMs;
  }

  /**
   * Sends a request. Repeats it with refreshed metadata as long as its failure is transient.
   * @param what completes the message "cannot …"
   * @throws Error with cause and remedy, or the signal's reason once it is aborted
   */
  async request<T>(
    what: string,
    access: RequestedAccess,
    run: (cluster: KafkaCluster) => Promise<T>,
    {
      signal,
      patienceMs = this.#patienceMs,
    }: { readonly signal?: AbortSignal; readonly patienceMs?: number } = {},
  ): Promise<T> {
    let giveUpMs: number | undefined;
    for (let failures = 0; ; failures++) {
      signal?.throwIfAborted();
      if (this.#closed) throw new Error(`cannot ${what}: the connection is closed`);
      this.#open ??= this.#connected();
      const open = this.#open;
      open.requests++;
      try {
        await open.cluster.connect();
        const result = await run(open.cluster);
        this.lastFailure = undefined;
        return result;
      } catch (error) {
        signal?.throwIfAborted();
        const { security } = this.#connect;
        giveUpMs ??= performance.now() + patienceMs;
        const why = explain(error, { principal: security?.principal, ...access });
        if (!isTransient(error) || (failures > 0 && performance.now() >= giveUpMs)) {
          // The next request opens a new connection. kafkajs refreshes all topics that a connection
          // was used for, and fails for all of them if one is missing.
          if (this.#open === open) this.#open = undefined;
          throw new Error(`cannot ${what}: ${why}`, { cause: error });
        }
        this.lastFailure = `cannot ${what}: ${why}`;
        const pauseMs = Math.min(FIRST_RETRY_MS * 2 ** failures, MAX_RETRY_MS);
        await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
        if (protocolErrorOf(error) !== 'CONCURRENT_TRANSACTIONS')
          await open.cluster.refreshMetadata().catch(() => undefined);
      } finally {
        // A replaced connection is closed after its last request.
        if (--open.requests === 0 && this.#open !== open) void close(open);
      }
    }
  }

  /** Rejects further requests, and cuts off those in flight after a grace period. Idempotent. */
  async close(graceMs = CLOSE_GRACE_MS): Promise<void> {
    this.#closed = true;
    await this.disconnect(graceMs);
  }

  /** Closes the sockets. The next request opens them again. */
  async disconnect(graceMs = CLOSE_GRACE_MS): Promise<void> {
    const open = this.#open;
    this.#open = undefined;
    if (open !== undefined) await close(open, graceMs);
  }

  #connected(): OpenCluster {
    const client = new Client(this.#connect, this.#logger, RETRY);
    return { client, cluster: clusterOf(client, METADATA_MAX_AGE_MS), requests: 0 };
  }
}

const close = ({ client, cluster }: OpenCluster, graceMs = CLOSE_GRACE_MS) =>
  client.close(() => cluster.disconnect(), graceMs);

/** Returns a broker for requests that any broker can serve. */
export async function controllerOf(cluster: KafkaCluster): Promise<KafkaBroker> {
  await cluster.refreshMetadataIfNecessary();
  return await cluster.findControllerBroker();
}

/** Returns the partitions of a topic, or undefined if it does not exist. */
export async function partitionsOf(
  cluster: KafkaCluster,
  topic: string,
): Promise<readonly PartitionMetadata[] | undefined> {
  const broker = await controllerOf(cluster);
  try {
    const { topicMetadata } = await broker.metadata([topic]);
    return topicMetadata[0]?.partitionMetadata ?? [];
  } catch (error) {
    if (protocolErrorOf(error) === 'UNKNOWN_TOPIC_OR_PARTITION') return undefined;
    throw error;
  }
}

/** Returns the effective settings of a topic, keyed by Kafka's names. @param names default: all */
export async function settingsOf(
  cluster: KafkaCluster,
  topic: string,
  names?: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const { resources } = await (await controllerOf(cluster)).describeConfigs({
    resources: [{ type: ConfigResourceTypes.TOPIC, name: topic, configNames: names }],
  });
  const entries = resources[0]?.configEntries ?? [];
  return new Map(entries.map(({ configName, configValue }) => [configName, configValue ?? '']));
}

const CREATE_TIMEOUT_MS = 15_000;

/** Creates a topic. @param validateOnly checks whether it could be created, without creating it */
export async function createTopic(
  cluster: KafkaCluster,
  topic: string,
  { partitions: numPartitions, replicationFactor, settings }: TopicSpec,
  validateOnly: boolean,
): Promise<void> {
  const configEntries = [...settings].map(([name, value]) => ({ name, value }));
  await (await controllerOf(cluster)).createTopics({
    validateOnly,
    timeout: CREATE_TIMEOUT_MS,
    topics: [{ topic, numPartitions, replicationFactor, configEntries }],
  });
}

export async function coordinatorOf(
  cluster: KafkaCluster,
  type: 'group' | 'transaction',
  id: string,
): Promise<KafkaBroker> {
  await cluster.refreshMetadataIfNecessary();
  const coordinatorType = type === 'group' ? 0 : 1;
  return await cluster.findGroupCoordinator({ groupId: id, coordinatorType });
}

/** Describes a group in Kafka's terms. A group that does not exist has the state `Dead`. */
export async function describeGroup(cluster: KafkaCluster, id: string) {
  const coordinator = await coordinatorOf(cluster, 'group', id);
  const [group] = (await coordinator.describeGroups({ groupIds: [id] })).groups;
  return { state: 'Dead', protocolType: '', protocol: '', members: [], ...group };
}

const retriable = (error: Error): Error => Object.assign(error, { retriable: true });

/**
 * Returns the partitions of a topic, from metadata that are at most a few minutes old.
 * @throws Error (transient) if the last refresh began before the topic was requested
 */
export async function knownPartitions(
  cluster: KafkaCluster,
  topic: string,
): Promise<readonly PartitionMetadata[]> {
  await cluster.addMultipleTargetTopics([topic]);
  await cluster.refreshMetadataIfNecessary();
  const known = cluster.findTopicPartitionMetadata(topic);
  if (known.length === 0) throw retriable(new Error(`the metadata has no topic ${topic}`));
  return known;
}

/**
 * Returns the leaders of the partitions, each with the partitions that it leads.
 * @throws Error (transient, because the metadata may be old) for a partition that does not exist
 */
export async function leadersOf(
  cluster: KafkaCluster,
  topic: string,
  partitions: readonly number[],
): Promise<(readonly [KafkaBroker, readonly number[]])[]> {
  await knownPartitions(cluster, topic);
  const leaders = Object.entries(cluster.findLeaderForPartitions(topic, partitions));
  const led = new Set(leaders.flatMap(([, some]) => some));
  const unknown = partitions.find((one) => !led.has(one));
  if (unknown !== undefined)
    throw retriable(new RangeError(`topic ${topic} has no partition ${unknown}`));
  return await Promise.all(
    leaders.map(async ([nodeId, some]) => [await cluster.findBroker({ nodeId }), some] as const),
  );
}

export const READ_UNCOMMITTED = 0;
export const READ_COMMITTED = 1;
/** Timestamps with a special meaning in the protocol. */
export const LATEST = -1;
export const EARLIEST = -2;

/** Lists the first offset of each partition at or after a time. Partitions without such an offset are left out. */
export async function listOffsets(
  cluster: KafkaCluster,
  topic: string,
  partitions: readonly number[],
  timestamp: number,
  isolationLevel: number,
): Promise<Map<number, number>> {
  const offsets = new Map<number, number>();
  for (const [leader, led] of await leadersOf(cluster, topic, partitions)) {
    const topics = [{ topic, partitions: led.map((partition) => ({ partition, timestamp })) }];
    const { responses } = await leader.listOffsets({ isolationLevel, topics });
    for (const { partition, offset } of responses.flatMap((one) => one.partitions))
      if (Number(offset) >= 0) offsets.set(partition, toOffset(offset));
  }
  return offsets;
}

/**
 * Returns start and end of partitions for a read_committed consumer.
 * @throws RangeError if the brokers return no offset. With a default offset, the topic would be
 * read again from its start
 */
export async function rangesOf(
  cluster: KafkaCluster,
  topic: string,
  partitions: readonly number[],
): Promise<Map<number, PartitionRange>> {
  const starts = await listOffsets(cluster, topic, partitions, EARLIEST, READ_COMMITTED);
  const ends = await listOffsets(cluster, topic, partitions, LATEST, READ_COMMITTED);
  return new Map(
    partitions.map((one) => [
      one,
      { start: answered(starts, one, topic), end: answered(ends, one, topic) },
    ]),
  );
}

/** Returns the value of a partition. @throws RangeError if the brokers returned none */
export function answered<T>(answers: ReadonlyMap<number, T>, partition: number, topic: string): T {
  const answer = answers.get(partition);
  if (answer === undefined)
    throw new RangeError(
      `the brokers returned no offset for partition ${partition} of topic ${topic}`,
    );
  return answer;
}

/**
 * Reads a topic as a read_committed consumer sees it, for tests to judge by. It is independent of `src/kafka` where it
 * matters: raw fetches without a consumer group, and a filter of its own for aborted transactions.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Broker, Cluster, Kafka as KafkaClient } from 'kafkajs';
import type { HeaderValue } from '../../src/core/record.ts';
import { Kafka, logLevel } from '../../src/kafka/kafkajs-fixes.ts';

export interface ReadRecord {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly timestampMs: number;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  /** As received: Buffers, a list where a name came more than once. */
  readonly headers: Readonly<Record<string, HeaderValue | undefined>>;
}

const READ_COMMITTED = 1;
const READ_UNCOMMITTED = 0;
/** First key bytes of a control record: version 0; then its type, where 0 aborts. */
const ABORT = 0;
const PARTITION_BYTES = 8 * 1024 * 1024;
/** Longest trouble with brokers (elections, restarts) that a reader sits out, ms. */
const PATIENCE_MS = 30_000;
const REQUEST_MS = 5_000;

interface FetchedMessage {
  readonly offset: string;
  readonly timestamp: string;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers?: Record<string, HeaderValue | undefined>;
  readonly isControlRecord?: boolean;
  readonly batchContext?: { readonly producerId: string; readonly inTransaction: boolean };
}

interface FetchedMessages extends ReadonlyArray<FetchedMessage> {
  /** Kept by src/kafka/kafkajs-fixes.ts, mend 2: batches may be empty after compaction. */
  readonly nextOffset?: number;
}

interface FetchedPartition {
  readonly lastStableOffset: string;
  readonly highWatermark: string;
  readonly abortedTransactions: readonly { readonly producerId: string; readonly firstOffset: string }[] | null;
  readonly messages: FetchedMessages;
}

/** What kafkajs's types leave out. */
type FetchingBroker = Broker & {
  fetch(request: object): Promise<{ readonly responses: readonly { readonly partitions: readonly FetchedPartition[] }[] }>;
};

export interface TopicReaderOptions {
  /** Also what is not committed, or was aborted. Default false. */
  readonly uncommitted?: boolean;
}

/** Remembers its position: every call continues where the last one ended. */
export class TopicReader {
  readonly #topic: string;
  readonly #isolation: number;
  readonly #cluster: Cluster;
  readonly #positions = new Map<number, number>();

  constructor(brokers: readonly string[], topic: string, options: TopicReaderOptions = {}) {
    this.#topic = topic;
    this.#isolation = options.uncommitted === true ? READ_UNCOMMITTED : READ_COMMITTED;
    this.#cluster = clusterOf(
      new Kafka({
        brokers: [...brokers],
        clientId: 'topic-reader',
        logLevel: logLevel.NOTHING,
        connectionTimeout: REQUEST_MS,
        requestTimeout: REQUEST_MS,
        retry: { initialRetryTime: 50, maxRetryTime: 500, retries: 5 },
      }),
    );
  }

  /**
   * Everything from the last position to what is the end when each partition is asked (read_committed: the last stable offset).
   * In order within a partition; partitions one after the other.
   */
  async readToEnd(): Promise<ReadRecord[]> {
    const records: ReadRecord[] = [];
    await this.#persist(() => this.#refresh());
    for (const partition of [...this.#positions.keys()].sort((a, b) => a - b)) {
      for (;;) {
        const { found, end } = await this.#persist(() => this.#fetch(partition));
        for (const record of found) records.push(record);
        if ((this.#positions.get(partition) ?? 0) >= end) break;
      }
    }
    return records;
  }

  /**
   * Reads on until there are at least `count` records since the call.
   * @throws Error that says how many came when the deadline passed.
   */
  async readCount(count: number, { deadlineMs = 30_000 }: { readonly deadlineMs?: number } = {}): Promise<ReadRecord[]> {
    const end = performance.now() + deadlineMs;
    const records: ReadRecord[] = [];
    for (;;) {
      for (const record of await this.readToEnd()) records.push(record);
      if (records.length >= count) return records;
      if (performance.now() > end) {
        throw new Error(`${records.length} of ${count} records in ${this.#topic} after ${deadlineMs} ms`);
      }
      await sleep(20);
    }
  }

  /**
   * Whether no transaction is undecided in any partition. A commit is acknowledged a moment before its markers are written, so
   * what was just committed may not be visible yet.
   */
  async isStable(): Promise<boolean> {
    await this.#persist(() => this.#refresh());
    for (const partition of this.#positions.keys())
      if (!(await this.#persist(() => this.#fetch(partition, true))).stable) return false;
    return true;
  }

  async close(): Promise<void> {
    await this.#cluster.disconnect();
  }

  async #refresh(): Promise<void> {
    if (!this.#cluster.isConnected()) await this.#cluster.connect();
    await this.#cluster.addTargetTopic(this.#topic);
    await this.#cluster.refreshMetadata();
    for (const { partitionId } of this.#cluster.findTopicPartitionMetadata(this.#topic)) {
      if (!this.#positions.has(partitionId)) this.#positions.set(partitionId, 0);
    }
  }

  async #fetch(
    partition: number,
    peek = false,
  ): Promise<{ readonly found: ReadRecord[]; readonly end: number; readonly stable: boolean }> {
    const position = this.#positions.get(partition) ?? 0;
    const leaders = Object.keys(this.#cluster.findLeaderForPartitions(this.#topic, [partition]));
    const broker = (await this.#cluster.findBroker({ nodeId: leaders[0] ?? '' })) as FetchingBroker;
    const { responses } = await broker.fetch({
      replicaId: -1,
      isolationLevel: this.#isolation,
      maxWaitTime: 0,
      minBytes: 0,
      maxBytes: PARTITION_BYTES,
      topics: [{ topic: this.#topic, partitions: [{ partition, fetchOffset: String(position), maxBytes: PARTITION_BYTES }] }],
    });
    const data = responses[0]?.partitions[0];
    if (data === undefined) throw new Error(`the broker left ${this.#topic}-${partition} out of its answer`);
    const end = Number(this.#isolation === READ_COMMITTED ? data.lastStableOffset : data.highWatermark);
    const stable = data.lastStableOffset === data.highWatermark;
    if (peek) return { found: [], end, stable };
    const covered = data.messages.nextOffset ?? Number(data.messages.at(-1)?.offset ?? position - 1) + 1;
    this.#positions.set(partition, Math.max(position, covered));
    const visible: readonly FetchedMessage[] =
      this.#isolation === READ_COMMITTED
        ? committed(data)
        : data.messages.filter((one: FetchedMessage) => one.isControlRecord !== true);
    const found = visible
      .filter(({ offset }) => Number(offset) >= position)
      .map(({ offset, timestamp, key, value, headers = {} }) => ({
        topic: this.#topic,
        partition,
        offset: Number(offset),
        timestampMs: Number(timestamp),
        key,
        value,
        headers,
      }));
    return { found, end, stable };
  }

  /** Sits out elections and restarts; retention that passed the position moves it to the log's start. */
  async #persist<T>(attempt: () => Promise<T>): Promise<T> {
    const end = performance.now() + PATIENCE_MS;
    for (;;) {
      try {
        return await attempt();
      } catch (error) {
        if ((error as { type?: string }).type === 'OFFSET_OUT_OF_RANGE') await this.#toLogStart();
        else if (performance.now() > end) throw error;
        await sleep(50);
        await this.#cluster.refreshMetadata().catch(() => undefined);
      }
    }
  }

  async #toLogStart(): Promise<void> {
    const partitions = [...this.#positions.keys()].map((partition) => ({ partition }));
    const [starts] = await this.#cluster.fetchTopicsOffset([{ topic: this.#topic, partitions, fromBeginning: true }]);
    for (const { partition, offset } of starts?.partitions ?? []) {
      this.#positions.set(partition, Math.max(Number(offset), this.#positions.get(partition) ?? 0));
    }
  }
}

/** The records of a fetch that no aborted transaction wrote, as the protocol says: by producer, from its first offset to its marker. */
function committed({ messages, abortedTransactions }: FetchedPartition): FetchedMessage[] {
  const pending = [...(abortedTransactions ?? [])].sort((a, b) => Number(a.firstOffset) - Number(b.firstOffset));
  const aborting = new Set<string>();
  const visible: FetchedMessage[] = [];
  for (const message of messages) {
    while (pending[0] !== undefined && Number(pending[0].firstOffset) <= Number(message.offset)) {
      aborting.add(pending[0].producerId);
      pending.shift();
    }
    const producer = message.batchContext?.producerId ?? '';
    if (message.isControlRecord === true) {
      if (message.key?.readInt16BE(2) === ABORT) aborting.delete(producer);
    } else if (message.batchContext?.inTransaction !== true || !aborting.has(producer)) {
      visible.push(message);
    }
  }
  return visible;
}

/** kafkajs shows its cluster connection to assigners only; the consumer around it never runs. */
function clusterOf(kafka: KafkaClient): Cluster {
  const clusters: Cluster[] = [];
  kafka.consumer({
    groupId: 'never-joined',
    allowAutoTopicCreation: false,
    partitionAssigners: [
      ({ cluster }) => {
        clusters.push(cluster);
        return {
          name: 'none',
          version: 0,
          assign: () => Promise.resolve([]),
          protocol: () => ({ name: 'none', metadata: Buffer.alloc(0) }),
        };
      },
    ],
  });
  const [cluster] = clusters;
  if (cluster === undefined) throw new Error('kafkajs did not show its cluster');
  return cluster;
}

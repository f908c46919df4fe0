/**
 * Reads a topic as a read_committed consumer sees it, to verify results. The reader is independent of the essential
 * parts of `src/kafka`: it fetches without a consumer group and has its own filter for aborted transactions.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Broker, Cluster, Kafka as KafkaClient } from 'kafkajs';
import type { RecordHeaders } from '../../../src/core/record.ts';
import { OWN_TOPIC_LIMITS } from '../../../src/kafka/kafkajs/partition-fetch.ts';
import { Kafka, logLevel } from '../../../src/kafka/kafkajs/patches.ts';
import {
  type BatchHeader,
  RECORDS_AT,
  readPieces,
  walkBatches,
} from '../../../src/kafka/records/index.ts';
import { nextOffset } from '../records/read-pieces.ts';
import { partsOf } from '../records/record-parts.ts';

export interface ReadRecord {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly timestampMs: number;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: RecordHeaders;
}

const READ_COMMITTED = 1;
const READ_UNCOMMITTED = 0;
/** Offset of the type in the only record of a control batch, after five one-byte numbers and its version. 0 means abort. */
const MARKER_TYPE_AT = RECORDS_AT + 5 + 2;
const ABORT = 0;
const PARTITION_BYTES = 8 * 1024 * 1024;
/** Byte limit of one response for all partitions. */
const REQUEST_BYTES = 32 * 1024 * 1024;
/** Time for which a reader retries while brokers are unavailable (elections, restarts), ms. */
const PATIENCE_MS = 30_000;
const REQUEST_MS = 5_000;
/** Maximum age of the metadata while a reader waits for records. New partitions are found within this time. */
const METADATA_MS = 1_000;
/** Maximum wait of a fetch while a caller waits for records. */
const FETCH_WAIT_MS = 100;

interface FetchedPartition {
  readonly partition: number;
  readonly lastStableOffset: string;
  readonly highWatermark: string;
  readonly abortedTransactions:
    | readonly { readonly producerId: string; readonly firstOffset: string }[]
    | null;
  /** Record set as received (src/kafka/kafkajs/patches.ts, patch 2). */
  readonly messages: Buffer;
  /** Error of this partition only (patch 7). */
  readonly failure?: Error;
}

/** Fetched records of one partition. */
interface Fetched {
  readonly partition: number;
  readonly records: ReadRecord[];
  readonly end: number;
  /** True if no transaction is undecided. */
  readonly stable: boolean;
}

/** Members that kafkajs's types omit. */
type FetchingBroker = Broker & {
  fetch(request: object): Promise<{
    readonly responses: readonly { readonly partitions: readonly FetchedPartition[] }[];
  }>;
};

export interface TopicReaderOptions {
  /** Includes uncommitted and aborted records. Default: false. */
  readonly uncommitted?: boolean;
  /** Called with each unreadable record. Default: an unreadable record is an error. */
  readonly onUnreadable?: (record: UnreadableRecord) => void;
}

export type UnreadableRecord = Pick<ReadRecord, 'partition' | 'offset' | 'timestampMs'>;

/** Reader with a position: every call continues where the previous call ended. */
export class TopicReader {
  readonly #topic: string;
  readonly #onUnreadable: TopicReaderOptions['onUnreadable'];
  readonly #isolation: number;
  readonly #cluster: Cluster;
  readonly #positions = new Map<number, number>();
  #refreshedMs = Number.NEGATIVE_INFINITY;

  constructor(brokers: readonly string[], topic: string, options: TopicReaderOptions = {}) {
    this.#topic = topic;
    this.#onUnreadable = options.onUnreadable;
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
   * Reads from the last position to the end of each partition (the last stable offset if read_committed). Records
   * are in order within a partition; partitions follow each other.
   * @param waitMs maximum time that a broker without new records waits for one
   */
  async readToEnd(waitMs = 0): Promise<ReadRecord[]> {
    const found = new Map<number, ReadRecord[]>();
    await this.forEachToEnd((record) => {
      const before = found.get(record.partition);
      if (before === undefined) found.set(record.partition, [record]);
      else before.push(record);
    }, waitMs);
    return [...found].sort(([a], [b]) => a - b).flatMap(([, records]) => records);
  }

  /** Reads like readToEnd, for topics that are larger than memory. */
  async forEachToEnd(onRecord: (record: ReadRecord) => void, waitMs = 0): Promise<void> {
    await this.#persist(() => this.#refresh(waitMs === 0 ? 0 : METADATA_MS));
    const behind = new Set([...this.#positions.keys()].sort((a, b) => a - b));
    while (behind.size > 0) {
      // Sends one request to one broker at a time. If an error leaves out partitions, they are requested again, and no
      // record is read twice.
      for (const { partition, records, end } of await this.#persist(() =>
        this.#fetch([...behind], { waitMs }),
      )) {
        for (const record of records) onRecord(record);
        if ((this.#positions.get(partition) ?? 0) >= end) behind.delete(partition);
      }
    }
  }

  /**
   * Reads until there are at least `count` records since the call.
   * @throws Error with the number of records if the deadline passes
   */
  async readCount(
    count: number,
    { deadlineMs = 30_000 }: { readonly deadlineMs?: number } = {},
  ): Promise<ReadRecord[]> {
    const end = performance.now() + deadlineMs;
    const records: ReadRecord[] = [];
    for (;;) {
      for (const record of await this.readToEnd(FETCH_WAIT_MS)) records.push(record);
      if (records.length >= count) return records;
      if (performance.now() > end) {
        throw new Error(
          `${records.length} of ${count} records in ${this.#topic} after ${deadlineMs} ms`,
        );
      }
    }
  }

  /**
   * True if no transaction is undecided in any partition. Markers are written slightly after the response to a
   * commit, so new records may not be visible yet.
   */
  async isStable(): Promise<boolean> {
    await this.#persist(() => this.#refresh());
    const unasked = new Set(this.#positions.keys());
    while (unasked.size > 0) {
      for (const { partition, stable } of await this.#persist(() =>
        this.#fetch([...unasked], { peek: true }),
      )) {
        if (!stable) return false;
        unasked.delete(partition);
      }
    }
    return true;
  }

  async close(): Promise<void> {
    await this.#cluster.disconnect();
  }

  /** @param maxAgeMs age up to which metadata is not refreshed */
  async #refresh(maxAgeMs = 0): Promise<void> {
    if (performance.now() < this.#refreshedMs + maxAgeMs) return;
    if (!this.#cluster.isConnected()) await this.#cluster.connect();
    await this.#cluster.addTargetTopic(this.#topic);
    await this.#cluster.refreshMetadata();
    for (const { partitionId } of this.#cluster.findTopicPartitionMetadata(this.#topic)) {
      if (!this.#positions.has(partitionId)) this.#positions.set(partitionId, 0);
    }
    this.#refreshedMs = performance.now();
  }

  /**
   * Fetches the given partitions that have the same leader as the first. With `peek`, the position does
   * not change.
   */
  async #fetch(
    partitions: readonly number[],
    { peek = false, waitMs = 0 }: { readonly peek?: boolean; readonly waitMs?: number } = {},
  ): Promise<Fetched[]> {
    const [leader = '', led = []] =
      Object.entries(this.#cluster.findLeaderForPartitions(this.#topic, [...partitions])).find(
        ([, mine]) => mine.includes(partitions[0] as number),
      ) ?? [];
    const broker = (await this.#cluster.findBroker({ nodeId: leader })) as FetchingBroker;
    const { responses } = await broker.fetch({
      replicaId: -1,
      isolationLevel: this.#isolation,
      maxWaitTime: waitMs,
      minBytes: 1,
      maxBytes: REQUEST_BYTES,
      topics: [
        {
          topic: this.#topic,
          partitions: led.map((partition) => ({
            partition,
            fetchOffset: String(this.#positions.get(partition) ?? 0),
            maxBytes: PARTITION_BYTES,
          })),
        },
      ],
    });
    const answered: readonly FetchedPartition[] = responses[0]?.partitions ?? [];
    const missing = led.find((partition) => !answered.some((one) => one.partition === partition));
    if (missing !== undefined)
      throw new Error(`the broker's response does not contain ${this.#topic}-${missing}`);
    for (const { failure } of answered) if (failure !== undefined) throw failure;
    return Promise.all(answered.map((data) => this.#take(data, peek)));
  }

  async #take(data: FetchedPartition, peek: boolean): Promise<Fetched> {
    const { partition, messages, highWatermark } = data;
    const position = this.#positions.get(partition) ?? 0;
    const end = Number(this.#isolation === READ_COMMITTED ? data.lastStableOffset : highWatermark);
    const stable = data.lastStableOffset === highWatermark;
    const records: ReadRecord[] = [];
    if (peek) return { partition, records, end, stable };
    const response = {
      partition,
      fetchOffset: position,
      endOffset: Number(highWatermark),
      bytes: messages,
      aborted: [],
    };
    for (const { start, end: behind } of this.#isolation === READ_COMMITTED
      ? committed(data)
      : walkBatches(messages)) {
      const batch = { ...response, bytes: messages.subarray(start, behind) };
      for await (const piece of readPieces(batch, OWN_TOPIC_LIMITS)) {
        for (const record of piece.records)
          records.push({ topic: this.#topic, ...partsOf(record) });
        if (piece.unreadable === undefined) continue;
        const { from, to, timestampMs, poison } = piece.unreadable;
        if (this.#onUnreadable === undefined)
          throw new Error(`${this.#topic}-${partition}: ${poison.message}`);
        for (let offset = from; offset < to; offset++)
          this.#onUnreadable({ partition, offset, timestampMs });
      }
    }
    this.#positions.set(partition, nextOffset(response));
    return { partition, records, end, stable };
  }

  /** Retries during elections and restarts. If retention has passed the position, continues at the log's start. */
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
    const [starts] = await this.#cluster.fetchTopicsOffset([
      { topic: this.#topic, partitions, fromBeginning: true },
    ]);
    for (const { partition, offset } of starts?.partitions ?? []) {
      this.#positions.set(partition, Math.max(Number(offset), this.#positions.get(partition) ?? 0));
    }
  }
}

/**
 * Returns the batches that are not part of an aborted transaction, which reaches from a producer's first offset to
 * its marker.
 */
function committed({ messages, abortedTransactions }: FetchedPartition): BatchHeader[] {
  const pending = [...(abortedTransactions ?? [])].sort(
    (a, b) => Number(a.firstOffset) - Number(b.firstOffset),
  );
  const aborting = new Set<string>();
  const visible: BatchHeader[] = [];
  for (const batch of walkBatches(messages)) {
    while (pending[0] !== undefined && Number(pending[0].firstOffset) <= batch.lastOffset) {
      aborting.add(pending[0].producerId);
      pending.shift();
    }
    const producer = String(batch.producerId);
    if (batch.control) {
      if (messages.readInt16BE(batch.start + MARKER_TYPE_AT) === ABORT) aborting.delete(producer);
    } else if (!batch.transactional || !aborting.has(producer)) {
      visible.push(batch);
    }
  }
  return visible;
}

/** kafkajs exposes its cluster connection only to assigners. The consumer created for this never runs. */
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
  if (cluster === undefined) throw new Error('kafkajs did not expose its cluster');
  return cluster;
}

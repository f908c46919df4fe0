/** TopicScan over kafkajs: for tools that look at a running pipeline from the side. */
import type { Cluster } from 'kafkajs';
import type { Logger } from '../core/ports/telemetry.ts';
import type { PartitionBounds, TopicScan } from '../core/ports/topic-scan.ts';
import type { SourceRecord } from '../core/record.ts';
import type { KafkaAdmin } from './admin.ts';
import { Client, type ConnectOptions, clusterOf } from './connect.ts';
import { explain } from './explain.ts';
import { toOffset } from './offsets.ts';
import { KafkaSourceReader } from './source-reader.ts';

const RETRY = { initialRetryTime: 100, multiplier: 2, maxRetryTime: 2_000, retries: 4 };
const METADATA_MAX_AGE_MS = 60_000;
const CLOSE_GRACE_MS = 500;
/** Larger than a retry's: whole topics are read. */
const FETCH_BYTES = 4 * 1024 * 1024;

export class KafkaTopicScan implements TopicScan {
  readonly #connect: ConnectOptions;
  readonly #admin: KafkaAdmin;
  readonly #logger: Logger;
  readonly #readers = new Map<string, KafkaSourceReader>();
  #connection: { readonly client: Client; readonly cluster: Cluster; readonly ready: Promise<void> } | undefined;

  constructor(connect: ConnectOptions, admin: KafkaAdmin, logger: Logger) {
    this.#connect = connect;
    this.#admin = admin;
    this.#logger = logger;
  }

  async bounds(topic: string): Promise<ReadonlyMap<number, PartitionBounds>> {
    const partitions = await this.#partitions(topic);
    // The stable end first: it is never beyond the end asked for after it.
    const stable = await this.#listOffsets(topic, partitions, { fromBeginning: false });
    const ranges = await this.#admin.ranges(topic, partitions);
    return new Map(
      partitions.map((partition) => {
        const { start = 0, end = 0 } = ranges.get(partition) ?? {};
        return [partition, { start, stable: Math.max(start, stable.get(partition) ?? start), end }];
      }),
    );
  }

  async firstAt(topic: string, timestampMs: number): Promise<ReadonlyMap<number, number>> {
    const partitions = await this.#partitions(topic);
    const ranges = await this.#admin.ranges(topic, partitions);
    // Below 0 the protocol has other meanings.
    const found = await this.#listOffsets(topic, partitions, { fromTimestamp: Math.max(0, Math.floor(timestampMs)) });
    return new Map(partitions.map((partition) => [partition, found.get(partition) ?? ranges.get(partition)?.end ?? 0]));
  }

  async read(
    topic: string,
    { partition, from, until }: { readonly partition: number; readonly from: number; readonly until: number },
    onBatch: (records: readonly SourceRecord[], next: number) => void | Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    let reader = this.#readers.get(topic);
    if (reader === undefined) {
      reader = new KafkaSourceReader(this.#connect, { topic, maxFetchBytes: FETCH_BYTES }, this.#logger);
      this.#readers.set(topic, reader);
    }
    if (until > from) await reader.read({ partition, from, to: until - 1 }, onBatch, signal);
  }

  group(id: string): Promise<{ readonly state: string; readonly members: number }> {
    return this.#admin.groupState(id);
  }

  async close(): Promise<void> {
    const connection = this.#connection;
    this.#connection = undefined;
    await Promise.all([
      ...[...this.#readers.values()].map((reader) => reader.close()),
      connection?.client.close(() => connection.cluster.disconnect(), CLOSE_GRACE_MS),
    ]);
  }

  async #partitions(topic: string): Promise<number[]> {
    return Array.from({ length: await this.#admin.partitionCount(topic) }, (_, partition) => partition);
  }

  /** Offsets as a read_committed consumer is told them; a partition without an answer is left out. */
  async #listOffsets(
    topic: string,
    partitions: readonly number[],
    at: { readonly fromBeginning: boolean } | { readonly fromTimestamp: number },
  ): Promise<Map<number, number>> {
    try {
      const cluster = await this.#cluster();
      await cluster.addMultipleTargetTopics([topic]);
      await cluster.refreshMetadataIfNecessary();
      const [answer] = await cluster.fetchTopicsOffset([
        { topic, partitions: partitions.map((partition) => ({ partition })), ...at } as Parameters<
          Cluster['fetchTopicsOffset']
        >[0][number],
      ]);
      return new Map(
        (answer?.partitions ?? [])
          .filter(({ offset }) => Number(offset) >= 0)
          .map(({ partition, offset }) => [partition, toOffset(offset)]),
      );
    } catch (error) {
      throw new Error(`cannot list the offsets of topic ${topic}: ${explain(error)}`, { cause: error });
    }
  }

  async #cluster(): Promise<Cluster> {
    if (this.#connection === undefined) {
      const client = new Client(this.#connect, this.#logger, RETRY);
      const cluster = clusterOf(client, METADATA_MAX_AGE_MS);
      this.#connection = { client, cluster, ready: cluster.connect() };
    }
    await this.#connection.ready;
    return this.#connection.cluster;
  }
}

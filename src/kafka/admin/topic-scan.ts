/** TopicScan over kafkajs: for tools that look at a running pipeline from the side. */
import type { RecordPiece } from '../../core/ports/kafka.ts';
import type { Logger } from '../../core/ports/telemetry.ts';
import type { PartitionBounds, TopicScan } from '../../core/ports/topic-scan.ts';
import { ClusterConnection } from '../client/cluster-connection.ts';
import type { ConnectOptions } from '../client/connect.ts';
import { explain } from '../client/errors.ts';
import { KafkaSourceReader } from '../consumer/source-reader.ts';
import type { ReadLimits } from '../records/index.ts';
import type { KafkaAdmin } from './admin.ts';
import {
  EARLIEST,
  LATEST,
  listOffsetsPatiently,
  READ_COMMITTED,
  READ_UNCOMMITTED,
} from './list-offsets.ts';

/** Several partitions are read at a time, and what was fetched is garbage soon: larger fetches only cost memory. */
const FETCH_BYTES = 1024 * 1024;

export class KafkaTopicScan implements TopicScan {
  readonly #connect: ConnectOptions;
  readonly #admin: KafkaAdmin;
  readonly #logger: Logger;
  readonly #limitsOf: (topic: string) => ReadLimits | undefined;
  readonly #readers = new Set<KafkaSourceReader>();
  readonly #connection: ClusterConnection;

  constructor(
    connect: ConnectOptions,
    admin: KafkaAdmin,
    logger: Logger,
    limitsOf: (topic: string) => ReadLimits | undefined = () => undefined,
  ) {
    this.#limitsOf = limitsOf;
    this.#connect = connect;
    this.#connection = new ClusterConnection(connect, logger);
    this.#admin = admin;
    this.#logger = logger;
  }

  async bounds(topic: string): Promise<ReadonlyMap<number, PartitionBounds>> {
    const partitions = await this.#partitions(topic);
    const start = await this.#listOffsets(topic, partitions, EARLIEST, READ_COMMITTED);
    // The stable end first: it is never beyond the end asked for after it.
    const stable = await this.#listOffsets(topic, partitions, LATEST, READ_COMMITTED);
    const end = await this.#listOffsets(topic, partitions, LATEST, READ_UNCOMMITTED);
    return new Map(
      partitions.map((partition) => {
        const first = start.get(partition) ?? 0;
        return [
          partition,
          {
            start: first,
            stable: Math.max(first, stable.get(partition) ?? 0),
            end: end.get(partition) ?? first,
          },
        ];
      }),
    );
  }

  async firstAt(topic: string, timestampMs: number): Promise<ReadonlyMap<number, number>> {
    const partitions = await this.#partitions(topic);
    const end = await this.#listOffsets(topic, partitions, LATEST, READ_UNCOMMITTED);
    // Below 0 the protocol has other meanings.
    const found = await this.#listOffsets(
      topic,
      partitions,
      Math.max(0, Math.floor(timestampMs)),
      READ_UNCOMMITTED,
    );
    return new Map(
      partitions.map((partition) => [partition, found.get(partition) ?? end.get(partition) ?? 0]),
    );
  }

  async read(
    topic: string,
    {
      partition,
      from,
      until,
    }: { readonly partition: number; readonly from: number; readonly until: number },
    onPiece: (piece: RecordPiece) => void | Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    if (until <= from) return;
    // A connection of its own: several partitions are read at a time, and their fetches would wait for one another.
    const reader = new KafkaSourceReader(
      this.#connect,
      { topic, maxFetchBytes: FETCH_BYTES, limits: this.#limitsOf(topic) },
      this.#logger,
    );
    this.#readers.add(reader);
    try {
      await reader.read({ partition, from, to: until - 1 }, onPiece, signal);
    } finally {
      this.#readers.delete(reader);
      await reader.close();
    }
  }

  group(id: string): Promise<{ readonly state: string; readonly members: number }> {
    return this.#admin.groupState(id);
  }

  async close(): Promise<void> {
    await Promise.all([
      ...[...this.#readers].map((reader) => reader.close()),
      this.#connection.close(),
    ]);
  }

  async #partitions(topic: string): Promise<number[]> {
    return Array.from(
      { length: await this.#admin.partitionCount(topic) },
      (_, partition) => partition,
    );
  }

  async #listOffsets(
    topic: string,
    partitions: readonly number[],
    timestamp: number,
    isolationLevel: number,
  ): Promise<Map<number, number>> {
    try {
      return await listOffsetsPatiently(this.#connection, {
        topic,
        partitions,
        timestamp,
        isolationLevel,
      });
    } catch (error) {
      const why = explain(error, {
        operation: 'READ',
        topic,
        principal: this.#connect.security?.principal,
      });
      throw new Error(`cannot list the offsets of topic ${topic}: ${why}`, { cause: error });
    }
  }
}

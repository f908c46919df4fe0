/** Implementation of TopicScan with kafkajs, for tools that read the topics of a running pipeline. */
import type {
  PartitionBounds,
  RecordPiece,
  TopicRange,
  TopicScan,
} from '../../core/ports/kafka.ts';
import type { Logger } from '../../core/ports/telemetry.ts';
import { LATEST } from '../cluster-connection.ts';
import type { ConnectOptions } from '../connect.ts';
import { KafkaSourceReader } from '../consumer/source-reader.ts';
import type { ReadLimits } from '../records/index.ts';
import type { KafkaAdmin } from './admin.ts';

/** Maximum bytes of a fetch. Small, because several partitions are read at once, and more would only cost memory. */
const FETCH_BYTES = 1024 * 1024;

export class KafkaTopicScan implements TopicScan {
  readonly #connect: ConnectOptions;
  readonly #admin: KafkaAdmin;
  readonly #logger: Logger;
  readonly #limitsOf: (topic: string) => ReadLimits | undefined;
  readonly #readers = new Set<KafkaSourceReader>();

  constructor(
    connect: ConnectOptions,
    admin: KafkaAdmin,
    logger: Logger,
    limitsOf: (topic: string) => ReadLimits | undefined = () => undefined,
  ) {
    this.#limitsOf = limitsOf;
    this.#connect = connect;
    this.#admin = admin;
    this.#logger = logger;
  }

  async bounds(topic: string): Promise<ReadonlyMap<number, PartitionBounds>> {
    const partitions = await this.#partitions(topic);
    // Reads the stable end first, so that it is never beyond the end.
    const ranges = await this.#admin.ranges(topic, partitions);
    const ends = await this.#admin.offsets(topic, partitions, LATEST);
    return new Map(
      [...ranges].map(([partition, { start, end }]) => [
        partition,
        { start, stable: Math.max(start, end), end: ends.get(partition) ?? start },
      ]),
    );
  }

  async firstAt(topic: string, timestampMs: number): Promise<ReadonlyMap<number, number>> {
    const partitions = await this.#partitions(topic);
    // Negative timestamps have special meanings in Kafka's protocol.
    const timestamp = Math.max(0, Math.floor(timestampMs));
    const ends = await this.#admin.offsets(topic, partitions, LATEST);
    const found = await this.#admin.offsets(topic, partitions, timestamp);
    return new Map(partitions.map((one) => [one, found.get(one) ?? ends.get(one) ?? 0]));
  }

  async read(
    topic: string,
    range: TopicRange,
    onPiece: (piece: RecordPiece) => void | Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    const { partition, from, until } = range;
    if (until <= from) return;
    // On a shared connection, fetches of several partitions would wait for one another.
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

  async members(group: string): Promise<number> {
    return (await this.#admin.group(group)).members.length;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#readers].map((reader) => reader.close()));
  }

  async #partitions(topic: string): Promise<number[]> {
    const { partitions } = await this.#admin.writable(topic);
    return Array.from({ length: partitions }, (_, partition) => partition);
  }
}

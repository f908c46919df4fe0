/**
 * Requirements of the Kafka conformance suites on an implementation: a cluster of its own topics,
 * the ports, and a way to let time pass. `kafka-real.ts` gives it over a real broker; an in-memory
 * fake gives the same over virtual time.
 */
import type {
  Assignment,
  ClusterAdmin,
  ControlProducer,
  FetchedBatch,
  GroupListener,
  ShardGroup,
  ShardProducers,
  SourceReader,
  Stream,
} from '../../src/core/ports/kafka.ts';
import type { OutgoingRecord, SourceRecord } from '../../src/core/record.ts';
import type { ReplayProducer } from '../../src/tools/inspect/replay.ts';

export interface WorldOptions {
  readonly sourcePartitions: number;
  readonly shards: number;
  /** Partitions of the output topic. Default 3. */
  readonly outputPartitions?: number;
}

/** One test's cluster. Its topics exist and are empty when it is handed over. */
export interface KafkaWorld {
  readonly topics: {
    readonly group: string;
    readonly source: string;
    readonly journal: string;
    readonly output: string;
  };
  readonly admin: ClusterAdmin;
  /** A new member of the group; closed with the world. */
  group(): ShardGroup;
  /** As another process would have it. */
  producers(): ShardProducers;
  controlProducer(): ControlProducer;
  /** Of a replay: it commits offsets of the source, and writes to no journal. */
  replayProducer(): ReplayProducer;
  sourceReader(): SourceReader;
  /** Writes as any producer does, outside transactions. */
  produce(topic: string, partition: number, records: readonly OutgoingRecord[]): Promise<void>;
  /** As retention does. */
  deleteRecordsBefore(topic: string, partition: number, offset: number): Promise<void>;
  addPartitions(topic: string, total: number): Promise<void>;
  /** All records of a topic that a read_committed consumer sees, by partition and offset. */
  readAll(topic: string): Promise<SourceRecord[]>;
  /** Lets time pass until the promise settles. Rejects when it takes too long. */
  settle<T>(promise: Promise<T>): Promise<T>;
  /** Lets time pass until the condition holds. Rejects, naming it, when that takes too long. */
  until(what: string, condition: () => boolean): Promise<void>;
  close(): Promise<void>;
}

export type WorldFactory = (options: WorldOptions) => Promise<KafkaWorld>;

/** A listener that writes down what it is told, and may react to it at once. */
export class RecordingListener implements GroupListener {
  readonly assignments: Assignment[] = [];
  readonly batches: FetchedBatch[] = [];
  readonly losses: string[] = [];
  readonly #records = new Map<FetchedBatch, SourceRecord[]>();
  onJoined: (assignment: Assignment) => void = () => undefined;
  onFetched: (batch: FetchedBatch) => void = () => undefined;

  joined(assignment: Assignment): void {
    this.assignments.push(assignment);
    this.onJoined(assignment);
  }

  fetched(batch: FetchedBatch): void {
    this.batches.push(batch);
    const read: SourceRecord[] = [];
    this.#records.set(batch, read);
    void (async () => {
      for await (const piece of batch.pieces()) read.push(...piece.records);
    })();
    this.onFetched(batch);
  }

  left(reason: string): void {
    this.losses.push(reason);
  }

  get shards(): number[] {
    return [...(this.assignments.at(-1)?.shards.keys() ?? [])];
  }

  records(stream: Stream, partition: number): SourceRecord[] {
    return this.batches
      .filter((batch) => batch.stream === stream && batch.partition === partition)
      .flatMap((batch) => this.#records.get(batch) ?? []);
  }

  values(stream: Stream, partition: number): (string | undefined)[] {
    return this.records(stream, partition).map(({ value }) => value?.toString());
  }
}

/** Makes a listener begin every assigned source partition at `offset` as soon as it is joined. */
export function readSourceFrom(
  group: ShardGroup,
  listener: RecordingListener,
  offset: number,
): void {
  listener.onJoined = ({ shards }) => {
    for (const partition of [...shards.values()].flat()) {
      group.seek('source', partition, offset);
      group.resume('source', partition);
    }
  };
}

export function numbered(from: number, count: number): OutgoingRecord[] {
  return Array.from({ length: count }, (_, index) => ({
    key: `k${from + index}`,
    value: `v${from + index}`,
  }));
}

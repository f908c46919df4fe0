/**
 * Interface that the Kafka conformance suites require of an implementation: topics, ports, and a way to let time
 * pass. `kafka-real.ts` implements it with a real broker, memory-kafka.test.ts in memory with virtual time.
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
  /** Partitions of the output topic. Default: 3. */
  readonly outputPartitions?: number;
}

/** Cluster of one test. Its topics exist and are empty at the start. */
export interface KafkaWorld {
  readonly topics: {
    readonly group: string;
    readonly source: string;
    readonly journal: string;
    readonly output: string;
  };
  readonly admin: ClusterAdmin;
  /** Creates a member of the group, which is closed with the world. */
  group(): ShardGroup;
  /** Creates producers that share no state with the earlier ones, as if in another process. */
  producers(): ShardProducers;
  controlProducer(): ControlProducer;
  /** Creates a replay's producer, which commits source offsets and writes to no journal. */
  replayProducer(): ReplayProducer;
  sourceReader(): SourceReader;
  /** Writes records without a transaction. */
  produce(topic: string, partition: number, records: readonly OutgoingRecord[]): Promise<void>;
  /** Deletes records as retention does. */
  deleteRecordsBefore(topic: string, partition: number, offset: number): Promise<void>;
  addPartitions(topic: string, total: number): Promise<void>;
  /** Returns all records of a topic that a read_committed consumer sees, by partition and offset. */
  readAll(topic: string): Promise<SourceRecord[]>;
  /** Lets time pass until the promise settles. Rejects after a timeout. */
  settle<T>(promise: Promise<T>): Promise<T>;
  /** Lets time pass until the condition holds. After a timeout, rejects with its description. */
  until(what: string, condition: () => boolean): Promise<void>;
  close(): Promise<void>;
}

export type WorldFactory = (options: WorldOptions) => Promise<KafkaWorld>;

/** Listener that records every call, and may react to it at once. */
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

/** Makes a listener read every assigned source partition from `offset` after the join. */
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

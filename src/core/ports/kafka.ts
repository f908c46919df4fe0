/** Kafka as the engine uses it. `src/kafka` implements it with kafkajs. The simulation implements it in memory. */
import type { EncodedRecords } from '../bytes/encoded-records.ts';
import type { Poison, SourceRecord } from '../record.ts';

/** The two topics that one consumer group reads: content, and the connector's journal. */
export type Stream = 'source' | 'journal';

/** Offsets of records that cannot be read: one record, or a whole batch. */
export interface UnreadableRecords {
  /** First offset. */
  readonly from: number;
  /** One past the last offset. */
  readonly to: number;
  /** Timestamp of the record, or of the batch if the reason is `unreadable_batch`. */
  readonly timestampMs: number;
  /** `unreadable_batch`, `too_large` or `too_many_headers`. */
  readonly poison: Poison;
}

/**
 * Part of the log that is decoded at once: records, and unreadable offsets that may follow them.
 * Valid until the next piece is requested.
 */
export interface RecordPiece {
  readonly records: readonly SourceRecord[];
  /** Unreadable offsets after the last record. */
  readonly unreadable: UnreadableRecords | undefined;
  /** One past the last offset that the piece covers, gaps included. */
  readonly nextOffset: number;
}

/**
 * Reserves memory for a record larger than a piece, before the record is assembled. It is a piece
 * of its own. The caller of `pieces` releases the memory. If the promise rejects, the iteration
 * ends.
 */
export type ReserveMemory = (bytes: number) => Promise<void>;

/**
 * A fetched batch. If the position is outside the log, a batch without records reports it at once.
 * If it is below the start (retention), `fetchOffset` is the start, where reading resumes. If it is
 * beyond the end (topic created again), `endOffset` is below `fetchOffset`. Then nothing is read
 * until the next seek, and the report is repeated every few seconds.
 */
export interface FetchedBatch {
  readonly stream: Stream;
  readonly partition: number;
  /** Requested offset. It shows whether the batch was in flight during a seek. */
  readonly fetchOffset: number;
  /**
   * Next offset to read: past the end of the batch, including control records and compacted gaps.
   */
  readonly nextOffset: number;
  /** End of the partition at the time of the fetch: the last stable offset, because reads are read_committed. */
  readonly endOffset: number;
  /** Fetched bytes. The unpacked size may be many times larger. */
  readonly bytes: number;
  /**
   * Reads the records on demand. The last piece ends at `nextOffset`. The caller may end the
   * iteration early.
   * @param reserve if absent, large records are read without a reservation
   */
  pieces(reserve?: ReserveMemory): AsyncIterable<RecordPiece>;
  /** Frees the bytes. Neither the batch nor its records may be read afterwards. */
  release?(): void;
}

export interface Assignment {
  readonly generation: number;
  /** K: the number of journal partitions, by which this generation distributes the source partitions. */
  readonly shardCount: number;
  /**
   * Source partitions by shard (p mod K = shard), ascending. The journal partition is the shard.
   */
  readonly shards: ReadonlyMap<number, readonly number[]>;
}

/** Resumed partition that cannot be read at present. Reading is retried every few seconds. */
export interface UnreadPartition {
  readonly stream: Stream;
  readonly partition: number;
  /** Position at which reading fails. */
  readonly offset: number;
  readonly error: string;
}

/** Failure to read a partition, for example because of a missing leader or damaged records. It may be temporary. */
export class UnreadPartitionError extends Error {
  override readonly name = 'UnreadPartitionError';
  readonly partition: number;

  constructor(partition: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.partition = partition;
  }
}

/** Callbacks of a group. They run in the client's fetch loop: they are synchronous, and must not throw or block. */
export interface GroupListener {
  /** Starts a new generation. Every partition of both streams is paused, and has no position until its first seek. */
  joined(assignment: Assignment): void;
  fetched(batch: FetchedBatch): void;
  /** Reports that the membership has ended, or cannot be restored. Nothing is assigned until the next `joined`. */
  left(reason: string): void;
}

/**
 * One member of a pipeline's consumer group. Reads with isolation level read_committed, and never
 * commits by itself.
 */
export interface ShardGroup {
  /**
   * Resolves after the first `joined`. Rejects if the brokers or topics are unreachable, with an
   * error that contains the remedy.
   */
  start(listener: GroupListener): Promise<void>;
  /** Leaves the group. Idempotent. */
  stop(): Promise<void>;
  seek(stream: Stream, partition: number, offset: number): void;
  pause(stream: Stream, partition: number): void;
  resume(stream: Stream, partition: number): void;
  /** Time of the last successful heartbeat or join (monotonic clock, ms). -Infinity before the first. */
  lastHeardMs(): number;
  /** Partitions that cannot be read although the brokers respond. */
  unread(): readonly UnreadPartition[];
  /** Resolves at the next successful heartbeat or join. Rejects when aborted. */
  confirmMembership(signal: AbortSignal): Promise<void>;
}

export interface JournalWrite {
  readonly key: string;
  /** null is a tombstone. */
  readonly value: string | null;
}

export interface OffsetCommit {
  readonly partition: number;
  readonly offset: number;
  /** At most 4096 bytes. */
  readonly metadata: string;
}

/** Writes that become visible together, or not at all. */
export interface Transaction {
  /**
   * Journal records, at least one: the first call of a transaction must be a send
   * (docs/internals/kafkajs.md).
   */
  readonly journal: readonly [JournalWrite, ...JournalWrite[]];
  readonly outputs?: readonly { readonly topic: string; readonly records: EncodedRecords }[];
  readonly offsets?: readonly OffsetCommit[];
}

/**
 * Reasons why a transaction was not confirmed. After any of them, the producer is unusable: close
 * it and claim the shard again.
 */
export type TransactionFailure =
  /** Another owner took the transactional id, or the broker timed the transaction out. */
  | 'fenced'
  /** The transaction may have been committed. Only the journal shows whether it was. */
  | 'unknown'
  /** Not committed, because a record or a request is larger than its topic allows. */
  | 'too_large'
  /** Not committed, for example because a right is missing. A repetition would fail in the same way. */
  | 'rejected'
  /** Not committed, because the failure preceded the commit request. */
  | 'aborted';

export class TransactionError extends Error {
  override readonly name = 'TransactionError';
  readonly failure: TransactionFailure;
  constructor(failure: TransactionFailure, message: string, options?: ErrorOptions) {
    super(message, options);
    this.failure = failure;
  }
}

export interface ShardProducer {
  /**
   * Runs one transaction. Calls must not overlap. The first call initialises the transactional id,
   * which fences every earlier producer with this id and aborts its open transaction.
   * @returns the journal offset of the first journal record
   * @throws TransactionError
   */
  commit(transaction: Transaction): Promise<{ readonly journalOffset: number }>;
  /** Last failure of the running transaction, which is being retried. undefined if there is none. */
  readonly trouble?: string | undefined;
  /**
   * Closes the connections. An open transaction is aborted by the next owner's fence, not by this
   * call. Idempotent, never throws.
   */
  close(): Promise<void>;
}

/**
 * Producer of an operator's commands, with the transactional id `<journal topic>-control`. It
 * writes the journal records of a transaction to every partition of the journal.
 */
export interface ControlProducer extends ShardProducer {
  /** Fences every earlier producer of commands, so that none of them can write a command any more. */
  fence(): Promise<void>;
}

export interface ShardProducers {
  /** Opens a producer with the transactional id `<journal topic>-<shard>`. Its first commit fences earlier ones. */
  open(shard: number): ShardProducer;
}

export interface PartitionRange {
  /** First offset still in the log. */
  readonly start: number;
  /** One past the last offset that can be read. */
  readonly end: number;
}

export interface CommittedOffset {
  /** null if the group has committed nothing for this partition. */
  readonly offset: number | null;
  readonly metadata: string;
}

export interface TopicDescription {
  readonly partitions: number;
  readonly replicationFactor: number;
  /** Effective settings by their names in Kafka: cleanup.policy, min.insync.replicas, … */
  readonly settings: ReadonlyMap<string, string>;
}

export interface TopicSpec {
  readonly partitions: number;
  readonly replicationFactor: number;
  readonly settings: ReadonlyMap<string, string>;
}

/**
 * Queries outside the data path. Each retries transient failures, and rejects with an error that
 * contains the topic and the remedy.
 */
export interface ClusterAdmin {
  brokerCount(): Promise<number>;
  /** Returns undefined if the topic does not exist. */
  describeTopic(topic: string): Promise<TopicDescription | undefined>;
  /** Also resolves if another client has created the topic first. */
  createTopic(topic: string, spec: TopicSpec): Promise<void>;
  /**
   * Log start and end of each partition for a read_committed consumer (end is the last stable
   * offset). Partitions that fail individually, for instance for lack of a leader, are omitted.
   * @throws UnreadPartitionError if all fail in this way
   */
  ranges(
    topic: string,
    partitions: readonly number[],
  ): Promise<ReadonlyMap<number, PartitionRange>>;
  /**
   * End of each partition, including records of open transactions (high watermark).
   * A partition without a leader is omitted.
   */
  ends(topic: string, partitions: readonly number[]): Promise<ReadonlyMap<number, number>>;
  /** Committed offset of each partition. */
  committed(
    group: string,
    topic: string,
    partitions: readonly number[],
  ): Promise<ReadonlyMap<number, CommittedOffset>>;
  /**
   * Time in ms for which no broker has responded to requests, over all connections of the process.
   * 0 if a broker responds.
   */
  silentMs(): number;
  close(): Promise<void>;
}

/** Reader of old source records, independent of the consumer group. Never commits. */
export interface SourceReader {
  /**
   * Delivers one partition from `from` to `to` (inclusive) in order, piece by piece, and resolves
   * once `to` has been passed. No later record is delivered, but `nextOffset` may be beyond `to`.
   * If `from` is below the log's start, reading begins at the start. Awaits `onPiece`, so `onPiece`
   * can slow it down. One large record at a time is read without reserving memory.
   * @throws UnreadPartitionError
   */
  read(
    range: { readonly partition: number; readonly from: number; readonly to: number },
    onPiece: (piece: RecordPiece) => void | Promise<void>,
    signal: AbortSignal,
  ): Promise<void>;
  close(): Promise<void>;
}

export interface PartitionBounds {
  /** First offset still in the log. */
  readonly start: number;
  /** Last stable offset. Every transaction that began below it has ended. */
  readonly stable: number;
  /** One past the last record written (high watermark). If it is above `stable`, transactions are open. */
  readonly end: number;
}

/** Offsets [from, until) of a partition. */
export interface TopicRange {
  readonly partition: number;
  readonly from: number;
  readonly until: number;
}

/** Reader of topics as an observer: joins no group, commits nothing and uses no transactional id. */
export interface TopicScan {
  /** Bounds of every partition, ascending. Rejects with an error that contains the topic. */
  bounds(topic: string): Promise<ReadonlyMap<number, PartitionBounds>>;
  /** Per partition, the first offset whose record is not older than `timestampMs`, or the end if there is none. */
  firstAt(topic: string, timestampMs: number): Promise<ReadonlyMap<number, number>>;
  /**
   * Delivers the committed records of one partition from `from` to `until` (exclusive), in order,
   * piece by piece. Waits while an open transaction blocks readers below `until`. Awaits `onPiece`.
   * @throws the signal's reason when aborted
   */
  read(
    topic: string,
    range: TopicRange,
    onPiece: (piece: RecordPiece) => void | Promise<void>,
    signal: AbortSignal,
  ): Promise<void>;
  /** Number of members of a group; 0 if it does not exist. */
  members(group: string): Promise<number>;
  close(): Promise<void>;
}

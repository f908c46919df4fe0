/** Kafka as the engine sees it. `src/kafka` implements it over kafkajs; tests may script it in memory. */
import type { EncodedRecords } from '../bytes/encoded-records.ts';
import type { Poison, RecordHeaders, SourceRecord } from '../record.ts';

/** The two topics that one consumer group reads: content, and the connector's own journal. */
export type Stream = 'source' | 'journal';

/** Offsets whose records cannot be read: a fact about the batch, or the one record, that they stand in. */
export interface UnreadableRecords {
  /** First offset. */
  readonly from: number;
  /** One past the last. */
  readonly to: number;
  /** Timestamp of the record; of the batch, for `unreadable_batch`. */
  readonly timestampMs: number;
  /** `unreadable_batch`, `too_large` or `too_many_headers`. */
  readonly poison: Poison;
}

/** A stretch of the log that is decoded at once: some records, then perhaps offsets that cannot be read. Valid until the next piece is asked for. */
export interface RecordPiece {
  readonly records: readonly SourceRecord[];
  /** Behind all of the records. */
  readonly unreadable: UnreadableRecords | undefined;
  /** One past the last offset that the piece covers, gaps included. */
  readonly nextOffset: number;
}

/**
 * Waits for memory before a single record larger than a piece is materialised; that record has a piece of its own. The release
 * is called when the next piece is asked for. A rejection ends the pieces.
 */
export type AdmitLargeRecord = (bytes: number) => Promise<() => void>;

/**
 * Also tells of a position outside the log, at once and without records. Below the start (retention): `fetchOffset` is the
 * start, where reading goes on. Beyond the end (topic created again): `endOffset` is below `fetchOffset`, and nothing is read
 * before the partition is sought again; told every few seconds until then.
 */
export interface FetchedBatch {
  readonly stream: Stream;
  readonly partition: number;
  /** The offset that the fetch asked for: it tells a batch that was already under way when a seek moved the position. */
  readonly fetchOffset: number;
  /** Where to read next: one past the end of the batch, control records and compacted gaps included. */
  readonly nextOffset: number;
  /** End of the partition when it was fetched (read_committed: last stable offset). */
  readonly endOffset: number;
  /** Size as fetched, in bytes; unpacked it may be any number of times as large. */
  readonly bytes: number;
  /**
   * Decodes piece by piece, as they are asked for; the last piece ends at `nextOffset`. Whoever stops early ends the iterator, and
   * may begin again.
   */
  pieces(admit: AdmitLargeRecord): AsyncIterable<RecordPiece>;
}

export interface Assignment {
  readonly generation: number;
  /** K: the partitions of the journal by which this generation divides the source. */
  readonly shardCount: number;
  /** Shard → the source partitions in it (p mod K = shard), ascending. Journal partition = shard. */
  readonly shards: ReadonlyMap<number, readonly number[]>;
}

/** All calls are synchronous and must not throw nor block: they run inside the client's fetch loop. */
export interface GroupListener {
  /** A new generation. Every partition of both streams is paused when this is called. Positions are undefined until sought. */
  joined(assignment: Assignment): void;
  fetched(batch: FetchedBatch): void;
  /** The group is left or lost for now (consumer crashed, is being rebuilt): nothing is assigned until the next `joined`. */
  left(reason: string): void;
}

/** One member of the consumer group of a pipeline. Reads with isolation level read_committed and never commits by itself. */
export interface ShardGroup {
  /** Resolves when the first `joined` was called. Rejects with an error that says what to do when the brokers or topics cannot be reached. */
  start(listener: GroupListener): Promise<void>;
  /** Leaves the group. Repeatable. */
  stop(): Promise<void>;
  seek(stream: Stream, partition: number, offset: number): void;
  pause(stream: Stream, partition: number): void;
  resume(stream: Stream, partition: number): void;
  /** On the monotonic clock of the process, ms: the last successful heartbeat or join. -Infinity before the first. */
  lastHeardMs(): number;
  /** Resolves at the first heartbeat or join that succeeds after this call: the caller is really a member. Rejects when aborted. */
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

/** Everything that becomes visible together, or not at all. */
export interface Transaction {
  /** At least one: the first call of a transaction must be a send (FINDINGS). */
  readonly journal: readonly [JournalWrite, ...JournalWrite[]];
  readonly outputs?: readonly { readonly topic: string; readonly records: EncodedRecords }[];
  readonly offsets?: readonly OffsetCommit[];
}

/** Why a transaction did not come back as committed. After any of them the producer is dead: close it and claim again. */
export type TransactionFailure =
  /** Another owner took the transactional id, or the broker timed the transaction out. */
  | 'fenced'
  /** Whether it was committed is unknown: only the journal can tell. */
  | 'unknown'
  /** Certainly not committed: a record, or what was sent at once, is larger than its topic takes. */
  | 'too_large'
  /** Certainly not committed, and trying the same again will fail the same way (not authorized). */
  | 'rejected'
  /** Certainly not committed: the failure came before the commit was asked for. */
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
   * Runs one transaction. Calls must not overlap: the worker queues them. The first call initialises the transactional
   * id, which fences every earlier holder and aborts what it left open.
   * @returns the journal offset of the first journal record.
   * @throws TransactionError always; see TransactionFailure.
   */
  commit(transaction: Transaction): Promise<{ readonly journalOffset: number }>;
  /** Frees the connections. Aborts nothing: the next owner's fence does that. Repeatable, never throws. */
  close(): Promise<void>;
}

export interface ShardProducers {
  /** A new producer with transactional id `<journal topic>-<shard>`; nothing is fenced before its first commit. */
  open(shard: number): ShardProducer;
}

export interface PartitionRange {
  /** First offset still in the log. */
  readonly start: number;
  /** One past the last that can be read. */
  readonly end: number;
}

export interface CommittedOffset {
  /** null when the group has none for this partition. */
  readonly offset: number | null;
  readonly metadata: string;
}

export interface TopicDescription {
  readonly partitions: number;
  readonly replicationFactor: number;
  /** Effective settings by Kafka's names: cleanup.policy, min.insync.replicas, … */
  readonly settings: ReadonlyMap<string, string>;
}

export interface TopicSpec {
  readonly partitions: number;
  readonly replicationFactor: number;
  readonly settings: ReadonlyMap<string, string>;
}

/** Questions to the cluster outside the data path. Each retries what is worth it and rejects with an error that names the topic and the remedy. */
export interface ClusterAdmin {
  brokerCount(): Promise<number>;
  /** undefined when the topic does not exist. */
  describeTopic(topic: string): Promise<TopicDescription | undefined>;
  /** Resolves also when somebody else created it first. */
  createTopic(topic: string, spec: TopicSpec): Promise<void>;
  /** Log start and end of each partition asked for: what a read_committed consumer can reach (end is the last stable offset). */
  ranges(
    topic: string,
    partitions: readonly number[],
  ): Promise<ReadonlyMap<number, PartitionRange>>;
  /**
   * End of each partition asked for, whether or not it can be read: records of open transactions count (the high watermark). For
   * numbers that are shown: asked once more at most. A partition without a leader has no known end, and is left out.
   */
  ends(topic: string, partitions: readonly number[]): Promise<ReadonlyMap<number, number>>;
  /** What the group has committed for each partition asked for. */
  committed(
    group: string,
    topic: string,
    partitions: readonly number[],
  ): Promise<ReadonlyMap<number, CommittedOffset>>;
  close(): Promise<void>;
}

/** Reads old source records again, apart from the group (a rewind, DESIGN 3). Never commits. */
export interface SourceReader {
  /**
   * Delivers one partition from `from` to `to` (inclusive), in order, piece by piece. Resolves when `to` was passed; nothing
   * above it is delivered, but `nextOffset` may lie beyond. `from` below the log's start begins at the start.
   * Awaits `onPiece`, so that the caller can hold it back. One large record at a time is read without asking for memory.
   */
  read(
    range: { readonly partition: number; readonly from: number; readonly to: number },
    onPiece: (piece: RecordPiece) => void | Promise<void>,
    signal: AbortSignal,
  ): Promise<void>;
  close(): Promise<void>;
}

export type { RecordHeaders };

/**
 * A job: one remote piece of work (a batch, an import, a set of lookups) and its source records.
 * The job record is immutable. Its remainder is a separate record that only shrinks.
 */
import { OffsetSet } from '../offset-set.ts';
import type { SourceCoordinate } from '../record.ts';

/** Offsets of one source partition in a job. */
export interface JobSource {
  readonly partition: number;
  /** Number of resets of the group before these records were read. It is part of their event ids. */
  readonly replay: number;
  /** All offsets of the job, encoded. The job's remainder has the unsettled ones. */
  readonly offsets: string;
}

export interface JobRecord {
  readonly id: string;
  /** Id assigned by the service. */
  readonly remoteId: string;
  readonly kind: string;
  readonly type: string;
  /** Name of the job's lane. Missing for the default lane. */
  readonly lane?: string;
  /** 1 for the first submission of these items. A submission that was not reviewed does not count. */
  readonly attempt: number;
  /** Number of halvings of failed batches that led to this batch. */
  readonly depth: number;
  /** Number of batches submitted so far in this line (a first submission and its retries). Limits the halving. */
  readonly spent: number;
  /** Id of the first job of this line. A first submission has its own id here. */
  readonly root: string;
  /** Number of the line in its shard. Lines are numbered in the order of their first submissions. */
  readonly sequence: number;
  /** Number of items, and size of the uploaded body in bytes. */
  readonly count: number;
  readonly bytes: number;
  /** Times in ms (wall clock): creation of the remote job, and timestamps of its oldest and newest event. */
  readonly createdMs: number;
  readonly oldestEventMs: number;
  readonly newestEventMs: number;
  /** Key that seals the job's rows, in base64url. Missing for kinds without a result file. */
  readonly rowKey?: string;
  readonly sources: readonly JobSource[];
}

/** Set of source records of one shard, such as a job's remainder. Stores offsets by partition. */
export class CoordinateSet {
  readonly #partitions = new Map<number, OffsetSet>();
  #size = 0;
  #heldBytes = 0;

  static of(coordinates: Iterable<SourceCoordinate>): CoordinateSet {
    const set = new CoordinateSet();
    for (const { partition, offset } of coordinates) set.add(partition, offset);
    return set;
  }

  get size(): number {
    return this.#size;
  }

  has(partition: number, offset: number): boolean {
    return this.#partitions.get(partition)?.has(offset) ?? false;
  }

  add(partition: number, offset: number): boolean {
    let offsets = this.#partitions.get(partition);
    if (offsets === undefined) {
      offsets = new OffsetSet();
      this.#partitions.set(partition, offsets);
    }
    const before = offsets.heldBytes;
    if (!offsets.add(offset)) return false;
    this.#size++;
    this.#heldBytes += offsets.heldBytes - before;
    return true;
  }

  /** Bytes of memory that the added offsets took. Removals do not reduce it. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** Upper bound of the encoded size in bytes. A run takes up to six bytes, and base64 adds a third. */
  get encodedBytes(): number {
    let bytes = 0;
    for (const offsets of this.#partitions.values()) {
      const width = (offsets.max() ?? 0) - (offsets.min() ?? 0);
      bytes += 12 + Math.min(width / 8, offsets.size * 6);
    }
    return (bytes * 4) / 3;
  }

  delete(partition: number, offset: number): boolean {
    const offsets = this.#partitions.get(partition);
    if (!offsets?.delete(offset)) return false;
    this.#size--;
    if (offsets.size === 0) this.#partitions.delete(partition);
    return true;
  }

  hasPartition(partition: number): boolean {
    return this.#partitions.has(partition);
  }

  /** Returns the partitions in ascending order, with their offsets. The caller must not change the offsets. */
  entries(): [partition: number, offsets: OffsetSet][] {
    return [...this.#partitions].sort(([a], [b]) => a - b);
  }

  *[Symbol.iterator](): IterableIterator<SourceCoordinate> {
    for (const [partition, offsets] of this.entries())
      for (const offset of offsets) yield { partition, offset };
  }

  clone(): CoordinateSet {
    return CoordinateSet.fromSets(
      [...this.#partitions].map(([partition, offsets]) => [partition, offsets.clone()]),
    );
  }

  static fromSets(sets: Iterable<readonly [partition: number, offsets: OffsetSet]>): CoordinateSet {
    const result = new CoordinateSet();
    for (const [partition, offsets] of sets) {
      if (offsets.size === 0) continue;
      result.#partitions.set(partition, offsets);
      result.#size += offsets.size;
    }
    return result;
  }
}

/** Live job: the immutable job record and the remainder. */
export class LiveJob {
  readonly record: JobRecord;
  /** Records still to be settled. */
  readonly left: CoordinateSet;
  /** True if the service has accepted the upload, or may have accepted it. */
  isUploaded: boolean;

  constructor(record: JobRecord, left: CoordinateSet, isUploaded = false) {
    this.record = record;
    this.left = left;
    this.isUploaded = isUploaded;
  }

  replayOf(partition: number): number {
    return this.record.sources.find((source) => source.partition === partition)?.replay ?? 0;
  }
}

/** Returns the `sources` of a new job. @param replayOf see JobSource */
export const sourcesOf = (
  records: CoordinateSet,
  replayOf: (partition: number) => number,
): JobSource[] =>
  records.entries().map(([partition, offsets]) => ({
    ...{ partition, replay: replayOf(partition), offsets: offsets.encode() },
  }));

type TimedCoordinate = SourceCoordinate & { readonly timestampMs: number };

/** Coordinates of the records of a batch that has no job yet, and the timestamps that its job will have. */
export class BatchRecords extends CoordinateSet {
  /** Timestamps in ms of the oldest and the newest record. Infinite if there are no records. */
  oldestMs = Infinity;
  newestMs = -Infinity;
  readonly #last = new Map<number, TimedCoordinate>();

  constructor(records: Iterable<TimedCoordinate> = []) {
    super();
    for (const record of records) this.take(record);
  }

  /** Adds a record. @throws Error if it is already in the batch */
  take({ partition, offset, timestampMs }: TimedCoordinate): void {
    if (!this.add(partition, offset))
      throw new Error(`record ${partition}:${offset} is already in the batch`);
    if (timestampMs < this.oldestMs) this.oldestMs = timestampMs;
    if (timestampMs > this.newestMs) this.newestMs = timestampMs;
    if (offset > (this.#last.get(partition)?.offset ?? -1))
      this.#last.set(partition, { partition, offset, timestampMs });
  }

  /** Coordinate and timestamp of the record with the highest offset, for each partition. */
  get last(): Iterable<TimedCoordinate> {
    return this.#last.values();
  }
}

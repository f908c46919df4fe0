/**
 * State of a shard in its owner's memory. Returns the journal records of each step of the protocol
 * (docs/ARCHITECTURE.md).
 *
 * A method that returns a Step changes this state at once. The caller commits steps in the order in
 * which they were built. If a commit fails, the caller discards this state and reclaims the shard.
 */
import type { Coordinates } from '../bytes/encoded-records.ts';
import type { JournalWrite, OffsetCommit, Transaction } from '../ports/kafka.ts';
import type { SourceCoordinate } from '../record.ts';
import { type BatchRecords, CoordinateSet, type JobRecord, LiveJob } from './job.ts';
import { writeJob, writeJobEnd, writeLeft, writeProgress } from './journal-records.ts';
import type { PartitionState } from './partition-state.ts';
import type { QuotaRecord } from './quota.ts';

export interface Step {
  readonly journal: Transaction['journal'];
  readonly offsets: readonly OffsetCommit[];
}

/** Record that intake has read and that is in no job. */
export interface UnassignedRecord extends SourceCoordinate {
  /** undefined if unknown, for example in a batch that cannot be decoded. */
  readonly timestampMs?: number | undefined;
}

/** Metadata of the group's commits. An offset without it was not committed by this connector. */
export const commitMetadata = (seq: number): string => `v1:${seq}`;
export const isOwnCommit = (metadata: string): boolean => /^v\d+:\d+$/.test(metadata);

export class ShardState {
  readonly partitions: ReadonlyMap<number, PartitionState>;
  /** Rows that earlier owners of the shard submitted. */
  readonly quota: QuotaRecord | undefined;
  readonly #jobs: Map<string, LiveJob>;
  /** Number of unsettled records in live jobs, by partition. */
  readonly #live = new Map<number, number>();
  /** Number of unsettled records in live jobs, by lane; the default lane is undefined. */
  readonly #liveOfLane = new Map<string | undefined, number>();
  /** Uploaded jobs that no step has marked as uploaded yet. */
  readonly #unmarked = new Set<LiveJob>();
  #seq: number;
  /** Number of the newest line of submissions (JobRecord.sequence). */
  #sequence = 0;

  constructor(
    partitions: ReadonlyMap<number, PartitionState>,
    jobs: ReadonlyMap<string, LiveJob>,
    seq: number,
    quota?: QuotaRecord,
  ) {
    this.partitions = partitions;
    this.#jobs = new Map(jobs);
    this.#seq = seq;
    this.quota = quota;
    for (const { record, left } of jobs.values()) {
      this.#sequence = Math.max(this.#sequence, record.sequence);
      for (const [partition, { size }] of left.entries()) this.#count(record, partition, size);
    }
  }

  get jobs(): ReadonlyMap<string, LiveJob> {
    return this.#jobs;
  }

  partition(partition: number): PartitionState {
    const state = this.partitions.get(partition);
    if (state === undefined) throw new Error(`source partition ${partition} is not in this shard`);
    return state;
  }

  /** Number of unsettled records in live jobs. */
  get unsettled(): number {
    let sum = 0;
    for (const live of this.#live.values()) sum += live;
    return sum;
  }

  /**
   * Number of a partition's unsettled records, which `source.maxInFlight` limits: records in live
   * jobs, and offsets above W that have been read.
   */
  unsettledIn(partition: number): number {
    return (this.#live.get(partition) ?? 0) + Math.max(0, this.partition(partition).width);
  }

  /** Number of unsettled records of a lane in live jobs. @param lane as in the job's record */
  unsettledOf(lane: string | undefined): number {
    return this.#liveOfLane.get(lane) ?? 0;
  }

  /** True if every record that intake has read is settled. */
  get isAtRest(): boolean {
    return this.#jobs.size === 0 && [...this.partitions.values()].every((state) => state.isAtRest);
  }

  hasRemoteId(remoteId: string): boolean {
    for (const job of this.#jobs.values()) if (job.record.remoteId === remoteId) return true;
    return false;
  }

  /** Returns the number for a new line, higher than the numbers of all live lines. */
  nextSequence(): number {
    return ++this.#sequence;
  }

  /** Returns the number of batches submitted so far in a line. It limits the halving. */
  spentInLine(root: string): number {
    let spent = 0;
    for (const job of this.#jobs.values())
      if (job.record.root === root) spent = Math.max(spent, job.record.spent);
    return spent;
  }

  /** Starts a job with records that intake has read: writes job, remainder, progress and source offsets. */
  submit(record: JobRecord, records: BatchRecords): Step {
    this.#assign(records, records.last);
    const left = records.clone();
    for (const [partition, { size }] of left.entries()) this.#count(record, partition, size);
    const job = this.#start(record, left);
    const { journal, offsets } = this.#progress() ?? { journal: [], offsets: [] };
    return { journal: [...job, ...journal, ...this.#marks()], offsets };
  }

  /** Marks a job as uploaded in the next step. A later owner then allows the upload a longer grace period. */
  uploaded(job: LiveJob): void {
    job.isUploaded = true;
    this.#unmarked.add(job);
  }

  /** Moves records from a job to the job of their next attempt. The old job shrinks, or ends if no records remain. */
  move(from: LiveJob, record: JobRecord, items: Iterable<SourceCoordinate>): Step {
    for (const { partition, offset } of items) {
      takeFrom(from, partition, offset);
      this.#count(from.record, partition, -1);
      this.#count(record, partition, 1);
    }
    const job = this.#start(record, CoordinateSet.of(items));
    return { journal: [...job, ...this.#remainder(from), ...this.#marks()], offsets: [] };
  }

  /** Removes records from a job. This step also publishes their terminal records. */
  settle(job: LiveJob, settled: Coordinates): Step {
    for (let row = 0; row < settled.length; row++) {
      takeFrom(job, settled.partition(row), settled.offset(row));
      this.#count(job.record, settled.partition(row), -1);
    }
    return { journal: [...this.#remainder(job), ...this.#marks()], offsets: [] };
  }

  /** Settles records that are in no job. This step also publishes their dead letters. */
  deadLetter(records: readonly UnassignedRecord[]): Step | undefined {
    const all = CoordinateSet.of(records);
    if (all.size < records.length) throw new Error('a record would get two dead letters');
    this.#assign(all, records);
    return this.#progress();
  }

  /**
   * Returns progress without a job if W has moved, uploads have ended or, with `positions`, intake
   * has advanced. The next owner uses the position to recognise records that were already in a
   * buffer, so that they keep their age.
   * @returns undefined if there is nothing to write
   */
  progressOnly({ positions = false }: { readonly positions?: boolean } = {}): Step | undefined {
    const { journal = [], offsets = [] } = this.#progress(positions) ?? {};
    const [first, ...others] = [...journal, ...this.#marks()];
    return first && { journal: [first, ...others], offsets };
  }

  #count({ lane }: JobRecord, partition: number, change: number): void {
    this.#live.set(partition, (this.#live.get(partition) ?? 0) + change);
    this.#liveOfLane.set(lane, (this.#liveOfLane.get(lane) ?? 0) + change);
  }

  /** @param timed at least the last record of each partition, with its timestamp if known */
  #assign(records: CoordinateSet, timed: Iterable<UnassignedRecord>): void {
    for (const [partition, offsets] of records.entries()) {
      const state = this.partition(partition);
      for (const [from, to] of offsets.ranges())
        if (state.isAnyAssigned(from, to))
          throw new Error(`a record of ${partition}:${from} to ${to - 1} is already assigned`);
    }
    for (const [partition, offsets] of records.entries()) {
      const state = this.partition(partition);
      for (const [from, to] of offsets.ranges()) state.assignRange(from, to);
    }
    for (const { partition, offset, timestampMs } of timed)
      this.partition(partition).assign(offset, timestampMs);
  }

  #start(record: JobRecord, left: CoordinateSet): [JournalWrite, JournalWrite] {
    this.#jobs.set(record.id, new LiveJob(record, left));
    return [writeJob(record), writeLeft(record.id, left)];
  }

  #marks(): JournalWrite[] {
    const jobs = [...this.#unmarked].filter(({ record }) => this.#jobs.has(record.id));
    this.#unmarked.clear();
    return jobs.map(({ record, left }) => writeLeft(record.id, left, true));
  }

  #remainder(job: LiveJob): [JournalWrite, ...JournalWrite[]] {
    this.#unmarked.delete(job);
    if (job.left.size > 0) return [writeLeft(job.record.id, job.left, job.isUploaded)];
    this.#jobs.delete(job.record.id);
    return writeJobEnd(job.record.id);
  }

  #progress(positions = false): Step | undefined {
    const [first, ...others] = [...this.partitions.values()].filter(
      (state) => state.dirty || (positions && state.readOn),
    );
    if (first === undefined) return undefined;
    const seq = ++this.#seq;
    const offsets: OffsetCommit[] = [];
    const write = (state: PartitionState): JournalWrite => {
      const progress = state.snapshot(seq);
      const { partition } = state;
      offsets.push({ partition, offset: progress.watermark, metadata: commitMetadata(seq) });
      const written = writeProgress(partition, progress);
      state.progressBytes = written.value?.length ?? 0;
      return written;
    };
    return { journal: [write(first), ...others.map(write)], offsets };
  }
}

function takeFrom({ record, left }: LiveJob, partition: number, offset: number): void {
  if (!left.delete(partition, offset))
    throw new Error(
      `record ${partition}:${offset} is not among the remaining records of job ${record.id}`,
    );
}

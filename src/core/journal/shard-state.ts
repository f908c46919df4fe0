/**
 * The state of a shard in its owner's memory, and the journal writes that each step of the protocol makes (DESIGN 3).
 *
 * Every method that returns a Step changes this state at once: the caller commits the step in the order in which it was
 * built, or, if a commit fails, throws the whole state away and claims the shard again.
 */
import type { Coordinates } from '../bytes/terminal-records.ts';
import type { JournalWrite, OffsetCommit } from '../ports/kafka.ts';
import type { SourceCoordinate } from '../record.ts';
import { CoordinateSet, type JobRecord, LiveJob } from './job.ts';
import { writeJob, writeJobEnd, writeLeft, writeProgress } from './journal-records.ts';
import type { PartitionState } from './partition-state.ts';

export interface Step {
  readonly journal: readonly JournalWrite[];
  readonly offsets: readonly OffsetCommit[];
}

/** A record that intake took, and its timestamp. */
export interface TakenRecord extends SourceCoordinate {
  readonly timestampMs: number;
  /** The timestamp is that of a whole batch, and says nothing of the record: whoever can read the batch finds another. */
  readonly isOfBatch?: boolean;
}

/** The group's commits carry this: an offset without it was set by somebody else. */
export const commitMetadata = (seq: number): string => `v1:${seq}`;
export const isOwnCommit = (metadata: string): boolean => /^v\d+:\d+$/.test(metadata);

export class ShardState {
  readonly partitions: ReadonlyMap<number, PartitionState>;
  readonly #jobs: Map<string, LiveJob>;
  /** Records in live jobs that are not settled, by partition. */
  readonly #live = new Map<number, number>();
  #seq: number;
  /** The newest place given to a line of submissions. */
  #sequence = 0;

  constructor(
    partitions: ReadonlyMap<number, PartitionState>,
    jobs: ReadonlyMap<string, LiveJob>,
    seq: number,
  ) {
    this.partitions = partitions;
    this.#jobs = new Map(jobs);
    this.#seq = seq;
    for (const { record, left } of jobs.values()) {
      this.#sequence = Math.max(this.#sequence, record.sequence);
      for (const [partition, { size }] of left.entries()) this.#count(partition, size);
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

  /** Records in live jobs that are not settled. */
  get unsettled(): number {
    let sum = 0;
    for (const live of this.#live.values()) sum += live;
    return sum;
  }

  /** Returns what `maxInFlight` bounds: the partition's records in live jobs, and the offsets from W to the newest read. */
  underWay(partition: number): number {
    return (this.#live.get(partition) ?? 0) + Math.max(0, this.partition(partition).span);
  }

  hasRemoteId(remoteId: string): boolean {
    for (const job of this.#jobs.values()) if (job.record.remoteId === remoteId) return true;
    return false;
  }

  /** The place of a line that begins now, behind every line that is live. */
  nextSequence(): number {
    return ++this.#sequence;
  }

  /** Whether a line submitted earlier still has records of a partition of this job to settle. */
  isBehind(job: LiveJob): boolean {
    for (const other of this.#jobs.values())
      if (other.record.sequence < job.record.sequence && other.left.sharesPartition(job.left))
        return true;
    return false;
  }

  /** Batches submitted so far in the line of this job (bounded when failing batches are halved). */
  spentInLine(root: string): number {
    let spent = 0;
    for (const job of this.#jobs.values())
      if (job.record.root === root) spent = Math.max(spent, job.record.spent);
    return spent;
  }

  /** A new job over records that intake took: job + left + progress + source offsets. */
  submit(record: JobRecord, items: Iterable<TakenRecord>): Step {
    const left = this.#claimAll(items);
    this.#jobs.set(record.id, new LiveJob(record, left));
    for (const [partition, { size }] of left.entries()) this.#count(partition, size);
    const progress = this.#progress();
    return {
      journal: [writeJob(record), writeLeft(record.id, left), ...progress.journal],
      offsets: progress.offsets,
    };
  }

  /** Records move from a job to its next attempt; the old one shrinks by them, or ends. */
  move(from: LiveJob, record: JobRecord, items: Iterable<SourceCoordinate>): Step {
    const left = CoordinateSet.of(items);
    for (const { partition, offset } of items) {
      if (!from.left.delete(partition, offset))
        throw new Error(`record ${partition}:${offset} is not left in job ${from.record.id}`);
    }
    this.#jobs.set(record.id, new LiveJob(record, left));
    return {
      journal: [writeJob(record), writeLeft(record.id, left), ...this.#remainder(from)],
      offsets: [],
    };
  }

  /** Terminal records for part of a job go out with this: what is left shrinks, or the job ends. */
  settle(job: LiveJob, settled: Coordinates): Step {
    for (let row = 0; row < settled.length; row++) {
      const [partition, offset] = [settled.partition(row), settled.offset(row)];
      if (!job.left.delete(partition, offset))
        throw new Error(`record ${partition}:${offset} is not left in job ${job.record.id}`);
      this.#count(partition, -1);
    }
    return { journal: this.#remainder(job), offsets: [] };
  }

  /** Dead letters for records that never were in a job go out with this. */
  deadLetter(records: Iterable<TakenRecord>): Step {
    this.#claimAll(records);
    return this.#progress();
  }

  /**
   * W moved without a job, or (with `positions`) intake only read on: then the next owner can tell which records were waiting
   * in a buffer already, and keeps their age. undefined when there is nothing to say.
   */
  progressOnly({ positions = false }: { readonly positions?: boolean } = {}): Step | undefined {
    const progress = this.#progress(positions);
    return progress.journal.length === 0 ? undefined : progress;
  }

  #count(partition: number, change: number): void {
    this.#live.set(partition, (this.#live.get(partition) ?? 0) + change);
  }

  #claimAll(records: Iterable<TakenRecord>): CoordinateSet {
    const set = new CoordinateSet();
    for (const { partition, offset } of records) {
      const state = this.partition(partition);
      if (state.isClaimed(offset) || !set.add(partition, offset))
        throw new Error(`record ${partition}:${offset} is claimed already`);
    }
    for (const { partition, offset, timestampMs, isOfBatch } of records) {
      this.partition(partition).claim(offset, isOfBatch === true ? undefined : timestampMs);
    }
    return set;
  }

  #remainder(job: LiveJob): JournalWrite[] {
    if (job.left.size > 0) return [writeLeft(job.record.id, job.left)];
    this.#jobs.delete(job.record.id);
    return writeJobEnd(job.record.id);
  }

  #progress(positions = false): Step {
    const moved = [...this.partitions.values()].filter(
      (state) => state.dirty || (positions && state.readOn),
    );
    const journal: JournalWrite[] = [];
    const offsets: OffsetCommit[] = [];
    if (moved.length === 0) return { journal, offsets };
    const seq = ++this.#seq;
    for (const state of moved) {
      const progress = state.snapshot(seq);
      journal.push(writeProgress(state.partition, progress));
      offsets.push({
        partition: state.partition,
        offset: progress.watermark,
        metadata: commitMetadata(seq),
      });
    }
    return { journal, offsets };
  }
}

/**
 * The journal folded: everything an owner knows when it takes over a shard (DESIGN 1). Fold every record from the
 * beginning to the replay barrier, then `finish`: only there is the whole consistent.
 */

import { OffsetSet } from '../offsets/offset-set.ts';
import { type CoordinateSet, type JobRecord, LiveJob } from './job.ts';
import {
  type JournalEntry,
  JournalFormatError,
  type JournalMeta,
  type OwnerRecord,
  type PartitionProgress,
  readJournalRecord,
} from './journal-records.ts';

export interface JournalState {
  readonly meta: JournalMeta | undefined;
  readonly owner: OwnerRecord | undefined;
  readonly progress: ReadonlyMap<number, PartitionProgress>;
  /** By job id, oldest first. */
  readonly jobs: ReadonlyMap<string, LiveJob>;
  /** The highest progress sequence seen. */
  readonly seq: number;
}

export class JournalView {
  #meta: JournalMeta | undefined;
  #owner: OwnerRecord | undefined;
  readonly #progress = new Map<number, PartitionProgress>();
  readonly #jobs = new Map<string, JobRecord>();
  readonly #left = new Map<string, CoordinateSet>();
  #seq = 0;

  get meta(): JournalMeta | undefined {
    return this.#meta;
  }
  get owner(): OwnerRecord | undefined {
    return this.#owner;
  }

  /** Takes the next record, and returns it. Idempotent: the last value of a key wins. @throws JournalFormatError */
  fold(key: string, value: string | null): JournalEntry {
    const record = readJournalRecord(key, value);
    switch (record.entry) {
      case 'meta':
        this.#meta = record.value;
        break;
      case 'owner':
        this.#owner = record.value;
        break;
      case 'progress':
        this.#progress.set(record.partition, record.value);
        this.#seq = Math.max(this.#seq, record.value.seq);
        break;
      case 'job':
        if (record.value === null) this.#jobs.delete(record.id);
        else this.#jobs.set(record.id, record.value);
        break;
      case 'left':
        if (record.value === null) this.#left.delete(record.id);
        else this.#left.set(record.id, record.value);
        break;
    }
    return record;
  }

  /**
   * The state at the barrier, checked against I1.
   * @throws JournalFormatError when the journal contradicts itself: somebody else writes to it, or it lost records.
   */
  finish(): JournalState {
    const jobs = new Map<string, LiveJob>();
    for (const [id, record] of [...this.#jobs].sort(([, a], [, b]) => a.createdMs - b.createdMs)) {
      const left = this.#left.get(id);
      if (left === undefined)
        throw new JournalFormatError(`job ${id} has no record of what is left of it`);
      if (left.size === 0)
        throw new JournalFormatError(`job ${id} is live, yet nothing is left of it`);
      jobs.set(id, new LiveJob(record, left));
    }
    for (const id of this.#left.keys()) {
      if (!this.#jobs.has(id))
        throw new JournalFormatError(`something is left of job ${id}, which has no record`);
    }
    this.#checkConservation(jobs);
    return { meta: this.#meta, owner: this.#owner, progress: this.#progress, jobs, seq: this.#seq };
  }

  /** I1: no record in two live jobs, and none that progress would read again. */
  #checkConservation(jobs: ReadonlyMap<string, LiveJob>): void {
    const named = new Map<number, OffsetSet>();
    for (const job of jobs.values()) {
      for (const [partition, offsets] of job.left.entries()) {
        const progress = this.#progress.get(partition);
        let seen = named.get(partition);
        if (seen === undefined) {
          seen = new OffsetSet();
          named.set(partition, seen);
        }
        for (const offset of offsets) {
          if (seen.has(offset))
            throw new JournalFormatError(
              `record ${partition}:${offset} is in two live jobs, one of them ${job.record.id}`,
            );
          seen.add(offset);
          if (
            progress === undefined ||
            (offset >= progress.watermark && !progress.claimed.has(offset))
          ) {
            throw new JournalFormatError(
              `record ${partition}:${offset} is in job ${job.record.id}, but progress does not claim it`,
            );
          }
        }
      }
    }
  }
}

/**
 * Reads the records of a journal into the state that a shard's next owner takes over. The state is
 * consistent only at the barrier of the claim, where `finish` checks it.
 */
import { type Acknowledgement, type Control, NO_CONTROL } from './control.ts';
import { CoordinateSet, type JobRecord, LiveJob } from './job.ts';
import {
  type JournalEntry,
  JournalFormatError,
  type JournalMeta,
  type OwnerRecord,
  type PartitionProgress,
  readJournalRecord,
} from './journal-records.ts';
import type { QuotaRecord } from './quota.ts';

export interface JournalState {
  readonly meta: JournalMeta | undefined;
  readonly owner: OwnerRecord | undefined;
  readonly progress: ReadonlyMap<number, PartitionProgress>;
  /** Live jobs by id, oldest first. */
  readonly jobs: ReadonlyMap<string, LiveJob>;
  /** The highest progress sequence. */
  readonly seq: number;
  /** undefined if the pipeline has never had a quota. */
  readonly quota: QuotaRecord | undefined;
  readonly control: Control;
  /** True if the newest record with the key `control` is invalid. Other owners may then follow another command. */
  readonly isControlSpoilt: boolean;
  readonly acknowledged: Acknowledgement | undefined;
}

export class JournalView {
  meta: JournalMeta | undefined;
  owner: OwnerRecord | undefined;
  control: Control = NO_CONTROL;
  #isControlSpoilt = false;
  acknowledged: Acknowledgement | undefined;
  readonly #progress = new Map<number, PartitionProgress>();
  readonly #jobs = new Map<string, JobRecord>();
  readonly #left = new Map<string, CoordinateSet>();
  /** Ids of uploaded jobs. */
  readonly #uploaded = new Set<string>();
  #quota: QuotaRecord | undefined;
  #seq = 0;

  /** Applies the next record, which replaces earlier records with the same key. @throws JournalFormatError */
  fold(key: string, text: string | null): JournalEntry {
    const record = readJournalRecord(key, text);
    switch (record.entry) {
      case 'meta':
        this.meta = record.value;
        break;
      case 'owner':
        this.owner = record.value;
        break;
      case 'progress':
        this.#progress.set(record.partition, record.value);
        this.#seq = Math.max(this.#seq, record.value.seq);
        break;
      case 'quota':
        this.#quota = record.value;
        break;
      case 'job':
        set(this.#jobs, record.id, record.value);
        break;
      case 'left':
        set(this.#left, record.id, record.value);
        if (record.isUploaded) this.#uploaded.add(record.id);
        else this.#uploaded.delete(record.id);
        break;
      case 'control':
        this.control = record.value ?? this.control;
        this.#isControlSpoilt = record.value === undefined;
        break;
      case 'control/ack':
        this.acknowledged = record.value ?? this.acknowledged;
        break;
    }
    return record;
  }

  /**
   * Returns the state at the barrier after checking I1.
   * @throws JournalFormatError if the journal is inconsistent: another application writes to it,
   * or records were lost
   */
  finish(): JournalState {
    const jobs = new Map<string, LiveJob>();
    for (const [id, record] of [...this.#jobs].sort(([, a], [, b]) => a.createdMs - b.createdMs)) {
      const left = this.#left.get(id);
      if (left === undefined)
        throw new JournalFormatError(`job ${id} has no record of its remainder`);
      if (left.size === 0)
        throw new JournalFormatError(`job ${id} is live, but has no remaining records`);
      jobs.set(id, new LiveJob(record, left, this.#uploaded.has(id)));
    }
    for (const id of this.#left.keys())
      if (!jobs.has(id))
        throw new JournalFormatError(`job ${id} has a remainder, but no job record`);
    this.#checkConservation(jobs.values());
    const { meta, owner, acknowledged } = this;
    // Compaction may have removed the command, or left only an unreadable record in its place.
    const control = this.control === NO_CONTROL ? (acknowledged ?? NO_CONTROL) : this.control;
    const { progress, seq } = { progress: this.#progress, seq: this.#seq };
    const isControlSpoilt = this.#isControlSpoilt;
    const commands = { control: stateOf(control), isControlSpoilt, acknowledged };
    return { meta, owner, progress, jobs, seq, quota: this.#quota, ...commands };
  }

  /** Checks I1: no record is in two live jobs, or in a live job although intake would read it again. */
  #checkConservation(jobs: Iterable<LiveJob>): void {
    const named = new CoordinateSet();
    for (const { record, left } of jobs) {
      for (const { partition, offset } of left) {
        const broken = (what: string) =>
          new JournalFormatError(`record ${partition}:${offset} is in ${what}`);
        if (!named.add(partition, offset)) throw broken(`two live jobs, one of them ${record.id}`);
        const { watermark = 0, claimed } = this.#progress.get(partition) ?? {};
        if (offset >= watermark && claimed?.has(offset) !== true)
          throw broken(`job ${record.id}, but progress does not claim it`);
      }
    }
  }
}

/** Returns the state in a command or an acknowledgement. */
const stateOf = ({ revision, hold }: Control): Control => ({
  revision,
  ...(hold !== undefined && { hold }),
});

/** Sets the value of a key; null deletes it. */
function set<T>(map: Map<string, T>, id: string, value: T | null): void {
  if (value === null) map.delete(id);
  else map.set(id, value);
}

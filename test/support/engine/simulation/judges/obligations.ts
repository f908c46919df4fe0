/**
 * Judge of I1 and I2. It follows the committed transactions one by one, derives the terminal records that the connector
 * owes, and depends only on the journal's format. After a reset of the group, the records from the new offset on
 * are owed again in a new generation, except those that a live job still contains.
 */
import type { CoordinateSet, JobRecord } from '../../../../../src/core/journal/job.ts';
import {
  type PartitionProgress,
  readJournalRecord,
} from '../../../../../src/core/journal/journal-records.ts';
import type { OutgoingRecord } from '../../../../../src/core/record.ts';
import type { PipelineTopics } from '../../../memory/kafka/client.ts';
import type { CommittedTransaction } from '../../../memory/kafka/transaction-coordinator.ts';
import { settledBy } from './settled-by.ts';
import { Violation } from './violation.ts';

interface Owed {
  readonly offset: number;
  /** Reason of the dead letter that the record must become, if it cannot be decoded or read. */
  readonly reason: string | undefined;
  /** True if the record was readable at first and no longer is. */
  damaged: boolean;
  /** Number of resets of the group when the record last became due. */
  generation: number;
  settled: boolean;
  /** Generations for which the record has a terminal record. */
  readonly terminal: Set<number>;
  /** Live jobs that contain the record. */
  readonly jobs: Set<string>;
  /** Reason why no terminal record is owed any more: skipped by a reset forward, or removed from the topic before a job contained it. */
  excuse: 'skipped' | 'removed' | undefined;
}

interface Partition {
  readonly records: Map<number, Owed>;
  progress: PartitionProgress | undefined;
  /** Offsets that Kafka's tool has set and no owner has adopted yet. */
  resets: number[];
  logStart: number;
}

export class Obligations {
  /** Number of resets that an owner has adopted. */
  resets = 0;
  /** Number of terminal records seen. */
  terminals = 0;
  readonly #topics: PipelineTopics;
  readonly #outputs: readonly string[];
  readonly #partitions = new Map<number, Partition>();
  readonly #jobs = new Map<string, JobRecord>();
  readonly #left = new Map<string, CoordinateSet>();
  readonly #recorded = new Set<string>();
  readonly #mayBe: (reason: string | undefined) => boolean;

  /**
   * @param mayBe returns true if a record that decodes and is in the source may end as a dead letter with this
   * reason; undefined stands for a decision
   */
  constructor(
    topics: PipelineTopics,
    outputs: readonly string[],
    mayBe: (reason: string | undefined) => boolean,
  ) {
    this.#topics = topics;
    this.#outputs = outputs;
    this.#mayBe = mayBe;
  }

  /** @param reason of the dead letter that the record must become, or undefined if the record decodes */
  produced(partition: number, offset: number, reason: string | undefined): void {
    const { records, progress } = this.#partition(partition);
    records.set(offset, {
      offset,
      reason,
      damaged: false,
      generation: progress?.replay ?? 0,
      settled: false,
      terminal: new Set(),
      jobs: new Set(),
      excuse: undefined,
    });
  }

  /** Excuses unsettled records below `start` that are in no job, since they are no longer in the source. */
  removed(partition: number, start: number): void {
    const state = this.#partition(partition);
    state.logStart = Math.max(state.logStart, start);
    for (const owed of state.records.values())
      if (owed.offset < start && !owed.settled && owed.jobs.size === 0) owed.excuse ??= 'removed';
  }

  /** Makes records in [from, to) unreadable. @returns the number of them that still need a terminal record */
  damaged(partition: number, from: number, to: number): number {
    let owing = 0;
    for (const owed of this.#partition(partition).records.values()) {
      if (owed.offset < from || owed.offset >= to) continue;
      owed.damaged = true;
      if (!owed.settled) owing++;
    }
    return owing;
  }

  resetByTool(partition: number, offset: number): void {
    this.#partition(partition).resets.push(offset);
  }

  /** True if the journal has ever contained this remote id. */
  isRecorded(remoteId: string): boolean {
    return this.#recorded.has(remoteId);
  }

  /** Watermark of a partition in the journal. */
  watermark(partition: number): number {
    return this.#partition(partition).progress?.watermark ?? 0;
  }

  /** True if no terminal record is owed. */
  get settled(): boolean {
    return this.#jobs.size === 0 && this.missing().length === 0;
  }

  /** Returns the coordinates of records without their terminal record. */
  missing(): string[] {
    return [...this.#partitions].flatMap(([partition, { records }]) =>
      [...records.values()]
        .filter((owed) => !owed.settled && owed.excuse === undefined)
        .map(({ offset }) => `${partition}:${offset}`),
    );
  }

  /** Number of records in live jobs. */
  get underReview(): number {
    return [...this.#left.values()].reduce((sum, { size }) => sum + size, 0);
  }

  liveJobs(): string[] {
    return [...this.#jobs.keys()];
  }

  /** @throws Violation of I1 or I2 */
  committed({ records, offsets }: CommittedTransaction): void {
    const touched = new Set<number>();
    for (const { topic, record } of records)
      if (topic === this.#topics.journal) this.#fold(record, touched);
    for (const { topic, record } of records)
      if (this.#outputs.includes(topic)) this.#terminal(record, touched);
    for (const { topic, commit } of offsets) {
      if (topic !== this.#topics.source) continue;
      const { progress } = this.#partition(commit.partition);
      if (progress?.watermark !== commit.offset || commit.metadata !== `v1:${progress.seq}`) {
        throw new Violation(
          'I1',
          `offset ${commit.offset} committed for partition ${commit.partition} differs from the progress in the journal`,
        );
      }
    }
    for (const id of this.#jobs.keys())
      if (!this.#left.has(id))
        throw new Violation('I1', `job ${id} is live, but has no remaining records`);
    for (const id of this.#left.keys())
      if (!this.#jobs.has(id))
        throw new Violation('I1', `job ${id} has remaining records, but is not live`);
    for (const partition of touched) this.#check(partition);
  }

  #fold({ key, value }: OutgoingRecord, touched: Set<number>): void {
    const entry = readJournalRecord(String(key), value === null ? null : String(value));
    if (entry.entry === 'progress') {
      this.#progress(entry.partition, entry.value);
      touched.add(entry.partition);
    } else if (entry.entry === 'job') {
      if (entry.value === null) this.#jobs.delete(entry.id);
      else {
        this.#jobs.set(entry.id, entry.value);
        this.#recorded.add(entry.value.remoteId);
      }
    } else if (entry.entry === 'left') {
      for (const { partition, offset } of this.#left.get(entry.id) ?? []) {
        this.#partition(partition).records.get(offset)?.jobs.delete(entry.id);
        touched.add(partition);
      }
      if (entry.value === null) this.#left.delete(entry.id);
      else this.#left.set(entry.id, entry.value);
      for (const { partition, offset } of entry.value ?? []) {
        this.#owed('I1', partition, offset).jobs.add(entry.id);
        touched.add(partition);
      }
    }
  }

  #progress(partition: number, next: PartitionProgress): void {
    const state = this.#partition(partition);
    const before = state.progress;
    state.progress = next;
    if (before === undefined) {
      const explained = state.resets.length > 0 || next.watermark <= state.logStart;
      if (!explained)
        throw new Violation(
          'I1',
          `partition ${partition} begins at ${next.watermark} above the start of the log, without a reset`,
        );
      for (const owed of state.records.values())
        if (owed.offset < next.watermark) owed.excuse ??= 'skipped';
      state.resets = [];
    } else if (next.replay !== before.replay) this.#reset(partition, state, next, before.replay);
    else if (next.watermark < before.watermark)
      throw new Violation(
        'I1',
        `the watermark of partition ${partition} went back from ${before.watermark} to ${next.watermark}`,
      );
  }

  #reset(partition: number, state: Partition, next: PartitionProgress, before: number): void {
    const live = new Set(
      [...state.records.values()].filter(({ jobs }) => jobs.size > 0).map(({ offset }) => offset),
    );
    const watermarkOf = (offset: number) => {
      let at = offset;
      while (live.has(at)) at++;
      return at;
    };
    // The watermark may differ from the requested offset. A reset beyond the end of the log goes to the end, and more
    // records may have been removed at the start since the owner read the range.
    const asked = state.resets.findLast(
      (offset) =>
        offset > next.watermark ||
        watermarkOf(offset) === next.watermark ||
        (offset < state.logStart && next.watermark <= watermarkOf(state.logStart)),
    );
    if (asked === undefined || next.replay !== before + 1)
      throw new Violation(
        'I1',
        `partition ${partition} was reset to ${next.watermark}, which no tool requested`,
      );
    this.resets++;
    state.resets = [];
    const from = Math.min(asked, next.watermark);
    for (const owed of state.records.values()) {
      if (owed.jobs.size > 0) continue;
      if (owed.offset < from) {
        if (!owed.settled) owed.excuse ??= 'skipped';
        continue;
      }
      owed.generation = next.replay;
      owed.settled = false;
      owed.excuse = owed.offset < state.logStart ? 'removed' : undefined;
    }
  }

  #terminal(record: OutgoingRecord, touched: Set<number>): void {
    const { partition, offset, generation, reason } = settledBy(record);
    const owed = this.#owed('I2', partition, offset);
    this.terminals++;
    touched.add(partition);
    const name = `record ${partition}:${offset}`;
    if (owed.terminal.has(generation))
      throw new Violation('I2', `${name} has two terminal records (generation ${generation})`);
    if (generation !== owed.generation) {
      throw new Violation(
        'I2',
        `${name} got a terminal record of generation ${generation}, but generation ${owed.generation} is owed`,
      );
    }
    const { logStart } = this.#partition(partition);
    const explained =
      reason === owed.reason ||
      (owed.damaged && reason === 'unreadable_batch') ||
      (owed.reason === undefined &&
        (reason === 'source_unavailable' ? offset < logStart : this.#mayBe(reason)));
    if (!explained)
      throw new Violation('reason', `${name} ended as ${reason ?? 'a decision'} without a cause`);
    if (owed.excuse === 'skipped')
      throw new Violation('I2', `${name} got a terminal record, though it was skipped`);
    owed.terminal.add(generation);
    owed.settled = true;
  }

  /** Checks I1 for every record of the partition. */
  #check(partition: number): void {
    const { progress, records } = this.#partition(partition);
    for (const { offset, settled, jobs, excuse } of records.values()) {
      const name = `record ${partition}:${offset}`;
      if (jobs.size > 1)
        throw new Violation('I1', `${name} is in several live jobs: ${[...jobs].join(' ')}`);
      if (jobs.size > 0 && settled)
        throw new Violation(
          'I1',
          `${name} is settled, but also in live job ${[...jobs].join(' ')}`,
        );
      const isClaimed =
        progress !== undefined && (offset < progress.watermark || progress.claimed.has(offset));
      if (isClaimed && !settled && jobs.size === 0 && excuse === undefined)
        throw new Violation(
          'I1',
          `${name} is lost: claimed, but neither settled nor in a live job`,
        );
      if (!isClaimed && (settled || jobs.size > 0))
        throw new Violation(
          'I1',
          `${name} is ${settled ? 'settled' : 'in a live job'}, but not claimed, so it would be reviewed again`,
        );
    }
  }

  #owed(rule: 'I1' | 'I2', partition: number, offset: number): Owed {
    const owed = this.#partition(partition).records.get(offset);
    if (owed === undefined) throw new Violation(rule, `there is no record ${partition}:${offset}`);
    return owed;
  }

  #partition(partition: number): Partition {
    let state = this.#partitions.get(partition);
    if (state === undefined) {
      state = { records: new Map(), progress: undefined, resets: [], logStart: 0 };
      this.#partitions.set(partition, state);
    }
    return state;
  }
}

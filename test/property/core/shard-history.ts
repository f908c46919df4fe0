/**
 * Random valid histories of one shard, told twice: by ShardState, whose journal writes are kept, and by a naive model that has
 * a word for every record. Its users compare the two.
 */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import {
  BatchRecords,
  CoordinateSet,
  type JobRecord,
  type LiveJob,
  sourcesOf,
} from '../../../src/core/journal/job.ts';
import { writeMeta, writeOwner } from '../../../src/core/journal/journal-records.ts';
import { PartitionState } from '../../../src/core/journal/partition-state.ts';
import { ShardState, type Step } from '../../../src/core/journal/shard-state.ts';
import type { JournalWrite, OffsetCommit } from '../../../src/core/ports/kafka.ts';
import type { SourceCoordinate } from '../../../src/core/record.ts';
import { columnsOf } from '../../support/records/coordinates.ts';

export const PARTITIONS = [1, 4];
const FIRST_OFFSET = 100;

export interface Action {
  readonly do:
    | 'take'
    | 'gap'
    | 'submit'
    | 'move'
    | 'settle'
    | 'deadLetter'
    | 'skip'
    | 'progress'
    | 'upload'
    | 'restart';
  /** Picks: a partition, a job, and which of the records that could be meant. */
  readonly pick: number;
  readonly mask: number;
}

export const actions: fc.Arbitrary<Action[]> = fc.array(
  fc.record({
    do: fc.constantFrom(
      'take',
      'take',
      'take',
      'gap',
      'submit',
      'submit',
      'move',
      'settle',
      'deadLetter',
      'skip',
      'progress',
      'upload',
      'restart',
    ),
    pick: fc.nat({ max: 1000 }),
    mask: fc.nat({ max: 0xffff }),
  }),
  { minLength: 1, maxLength: 60, size: 'max' },
);

/**
 * Fate of one offset in the model: not read, waiting in memory, in a job (its id), or done with.
 */
type Fate = 'waiting' | 'done' | { readonly job: string };

type ReadRecord = SourceCoordinate & { readonly timestampMs: number };

export class ShardHistory {
  state: ShardState;
  /** Committed transactions, in order. */
  readonly transactions: (readonly JournalWrite[])[] = [];
  readonly committed = new Map<number, OffsetCommit>();
  /** partition → offset → fate; an offset that is not there was never read. */
  readonly fates = new Map<number, Map<number, Fate>>(
    PARTITIONS.map((partition) => [partition, new Map()]),
  );
  /** Fates in the journal, which a restart returns to. */
  #durable = new Map<number, Map<number, Fate>>();
  /** Skips and gaps that no progress record contains yet: a restart comes past them again. */
  readonly #unwritten = new Set<string>();
  #jobs = 0;
  readonly #resume: (history: ShardHistory) => ShardState;

  /** @param resume makes a state from the journal: what a restart does */
  constructor(resume: (history: ShardHistory) => ShardState) {
    this.#resume = resume;
    this.state = new ShardState(
      new Map(
        PARTITIONS.map((partition) => [partition, PartitionState.startAt(partition, FIRST_OFFSET)]),
      ),
      new Map(),
      0,
    );
    this.transactions.push([writeOwner({ instance: 'i', claim: 'c', atMs: 1 })]);
    this.transactions.push([writeMeta({ group: 'g', source: 'in', shards: 1, kind: 'k' })]);
    this.#commit(this.state.progressOnly());
  }

  get journal(): readonly JournalWrite[] {
    return this.transactions.flat();
  }

  /** Does the action, when it can be done now. @returns whether it changed the journal */
  run({ do: what, pick, mask }: Action): boolean {
    const partition = PARTITIONS[pick % PARTITIONS.length] as number;
    const before = this.transactions.length;
    switch (what) {
      case 'take':
        for (let n = 0; n <= mask % 6; n++) this.#read(partition, 'waiting');
        break;
      case 'gap':
        this.#gap(partition, 1 + (mask % 20));
        break;
      case 'skip':
        this.#read(partition, 'done');
        break;
      case 'progress':
        this.#commit(this.state.progressOnly());
        break;
      case 'submit':
        this.#submit(this.waiting(mask));
        break;
      case 'deadLetter': {
        const records = this.waiting(mask);
        if (records.length > 0)
          this.#commit(this.state.deadLetter(records), () => this.#mark(records, 'done'));
        break;
      }
      case 'move':
      case 'settle': {
        const job = this.liveJob(pick);
        const records = job === undefined ? [] : select([...job.left], mask);
        if (job === undefined || records.length === 0) break;
        if (what === 'settle')
          this.#commit(this.state.settle(job, columnsOf(records)), () =>
            this.#mark(records, 'done'),
          );
        else {
          const record = this.jobRecord(records, job.record);
          this.#commit(this.state.move(job, record, records), () =>
            this.#mark(records, { job: record.id }),
          );
        }
        break;
      }
      case 'upload': {
        const job = this.liveJob(pick);
        if (job !== undefined) this.state.uploaded(job);
        break;
      }
      case 'restart':
        this.state = this.#resume(this);
        this.fates.clear();
        for (const [p, fates] of this.#durable) this.fates.set(p, new Map(fates));
        this.#unwritten.clear();
        break;
    }
    return this.transactions.length > before;
  }

  /** Records taken from the source that no transaction has named; `mask` picks some of them. */
  waiting(mask: number): ReadRecord[] {
    const records: ReadRecord[] = [];
    for (const [partition, fates] of this.fates)
      for (const [offset, fate] of fates)
        if (fate === 'waiting')
          records.push({ partition, offset, timestampMs: timestampOf(offset) });
    return select(records, mask);
  }

  liveJob(pick: number): LiveJob | undefined {
    const jobs = [...this.state.jobs.values()];
    return jobs[pick % Math.max(1, jobs.length)];
  }

  jobRecord(records: readonly SourceCoordinate[], from?: JobRecord): JobRecord {
    const id = `job-${++this.#jobs}`;
    const sources = sourcesOf(CoordinateSet.of(records), () => 0);
    return {
      id,
      remoteId: `remote-${this.#jobs}`,
      kind: 'k',
      type: 'a',
      attempt: (from?.attempt ?? 0) + 1,
      depth: from?.depth ?? 0,
      spent: (from?.spent ?? 0) + 1,
      root: from?.root ?? id,
      sequence: from?.sequence ?? this.#jobs,
      count: records.length,
      bytes: 10,
      createdMs: this.#jobs,
      oldestEventMs: 0,
      newestEventMs: 0,
      sources,
    };
  }

  /** Returns the remaining records of each job in the model. */
  left(): Map<string, CoordinateSet> {
    const left = new Map<string, CoordinateSet>();
    for (const [partition, fates] of this.fates) {
      for (const [offset, fate] of fates) {
        if (typeof fate === 'string') continue;
        const set = left.get(fate.job) ?? new CoordinateSet();
        left.set(fate.job, set);
        set.add(partition, offset);
      }
    }
    return left;
  }

  /** W by the model: the first offset that is not done with and not in a job. */
  watermark(partition: number): number {
    const fates = this.fates.get(partition);
    let offset = FIRST_OFFSET;
    for (
      let fate = fates?.get(offset);
      fate !== undefined && fate !== 'waiting';
      fate = fates?.get(offset)
    )
      offset++;
    return offset;
  }

  #read(partition: number, fate: 'waiting' | 'done'): void {
    const state = this.state.partition(partition);
    const offset = state.position++;
    // As intake does: what is claimed already is passed over.
    if (state.isAssigned(offset)) return;
    this.fates.get(partition)?.set(offset, fate);
    if (fate === 'waiting') return;
    state.assign(offset, timestampOf(offset));
    this.#unwritten.add(`${partition}:${offset}`);
  }

  #gap(partition: number, length: number): void {
    const state = this.state.partition(partition);
    const from = state.position;
    for (let offset = from; offset < from + length; offset++) {
      // A gap lies where no record ever was.
      if (state.isAssigned(offset)) return;
    }
    state.passGap(from, from + length);
    state.position = from + length;
    for (let offset = from; offset < from + length; offset++) {
      this.fates.get(partition)?.set(offset, 'done');
      this.#unwritten.add(`${partition}:${offset}`);
    }
  }

  #submit(records: readonly ReadRecord[]): void {
    if (records.length === 0) return;
    const record = this.jobRecord(records);
    this.#commit(this.state.submit(record, new BatchRecords(records)), () =>
      this.#mark(records, { job: record.id }),
    );
  }

  #commit(step: Step | undefined, done: () => void = () => undefined): void {
    if (step === undefined) return;
    assert.ok(step.journal.length > 0);
    done();
    this.transactions.push(step.journal);
    for (const commit of step.offsets) this.committed.set(commit.partition, commit);
    // Progress is written for every partition that moved, or for none.
    if (step.offsets.length > 0) this.#unwritten.clear();
    const isDurable = (partition: number, offset: number, fate: Fate) =>
      fate !== 'waiting' && !this.#unwritten.has(`${partition}:${offset}`);
    this.#durable = new Map(
      [...this.fates].map(([p, fates]) => [
        p,
        new Map([...fates].filter(([offset, fate]) => isDurable(p, offset, fate))),
      ]),
    );
  }

  #mark(records: readonly SourceCoordinate[], fate: Fate): void {
    for (const { partition, offset } of records) this.fates.get(partition)?.set(offset, fate);
  }
}

export const timestampOf = (offset: number): number => 1_000_000 + offset;

function select<T>(from: readonly T[], mask: number): T[] {
  return from.filter((_, index) => (mask >> (index % 16)) & 1);
}

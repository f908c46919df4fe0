import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { CoordinateSet } from '../../../src/core/journal/job.ts';
import {
  JournalFormatError,
  writeJob,
  writeJobEnd,
  writeLeft,
  writeProgress,
} from '../../../src/core/journal/journal-records.ts';
import { type JournalState, JournalView } from '../../../src/core/journal/journal-view.ts';
import { PartitionState } from '../../../src/core/journal/partition-state.ts';
import { ShardState } from '../../../src/core/journal/shard-state.ts';
import { OffsetSet } from '../../../src/core/offset-set.ts';
import type { JournalWrite } from '../../../src/core/ports/kafka.ts';
import { actions, ShardHistory } from './shard-history.ts';

function fold(journal: readonly JournalWrite[]): JournalState {
  const view = new JournalView();
  for (const { key, value } of journal) view.fold(key, value);
  return view.finish();
}

function resume(history: ShardHistory): ShardState {
  const { progress, jobs, seq } = fold(history.journal);
  return new ShardState(
    new Map([...progress].map(([p, one]) => [p, PartitionState.resume(p, one)])),
    jobs,
    seq,
  );
}

/** Comparable: sets as lists, maps as sorted pairs. */
function told({ meta, owner, progress, jobs, seq }: JournalState): unknown {
  return {
    meta,
    owner,
    seq,
    progress: [...progress].map(([p, one]) => [p, { ...one, claimed: [...one.claimed] }]).sort(),
    jobs: [...jobs.values()].map(({ record, left }) => [record, [...left]]),
  };
}

/** Keeps the last record of each key below `upTo`, as a log cleaner does. */
function compact(
  journal: readonly JournalWrite[],
  upTo: number,
  dropTombstones: boolean,
): JournalWrite[] {
  const last = new Map<string, number>();
  for (const [at, { key }] of journal.entries()) if (at < upTo) last.set(key, at);
  return journal.filter(
    ({ key, value }, at) =>
      at >= upTo || (last.get(key) === at && !(dropTombstones && value === null && at < upTo)),
  );
}

test('however much of the journal was compacted, with tombstones or without, it folds to the same state', () => {
  fc.assert(
    fc.property(
      actions,
      fc.nat(),
      fc.nat(),
      fc.boolean(),
      (steps, cut, cleaned, dropTombstones) => {
        const history = new ShardHistory(resume);
        for (const action of steps) history.run(action);
        // Any prefix that ends with a transaction is a state that some owner found.
        const journal = history.transactions
          .slice(0, 2 + (cut % (history.transactions.length - 1)))
          .flat();
        const compacted = compact(journal, cleaned % (journal.length + 1), dropTombstones);
        assert.deepEqual(told(fold(compacted)), told(fold(journal)));
        const again = compact(compacted, compacted.length, dropTombstones);
        assert.deepEqual(told(fold(again)), told(fold(journal)));
      },
    ),
    { numRuns: 300 },
  );
});

test('jobs come oldest first, and the sequence is the highest that any progress carries', () => {
  const progress = writeProgress(0, { ...nothingRead(10), seq: 9 });
  const state = fold([
    writeProgress(3, { ...nothingRead(0), seq: 12 }),
    progress,
    ...job('young', [1], 20),
    ...job('old', [2], 10),
    writeProgress(3, { ...nothingRead(0), seq: 11 }),
  ]);
  assert.deepEqual([...state.jobs.keys()], ['old', 'young']);
  assert.equal(state.seq, 12);
});

const CONTRADICTIONS: readonly {
  readonly name: string;
  readonly journal: readonly JournalWrite[];
  readonly says: RegExp;
}[] = [
  {
    name: 'a job without its remainder',
    journal: [writeProgress(0, nothingRead(10)), job('a', [1])[0] as JournalWrite],
    says: /job a has no record of what is left/,
  },
  {
    name: 'a remainder without its job',
    journal: [writeProgress(0, nothingRead(10)), job('a', [1])[1] as JournalWrite],
    says: /something is left of job a, which has no record/,
  },
  {
    name: 'a job with nothing left',
    journal: [
      writeProgress(0, nothingRead(10)),
      job('a', [1])[0] as JournalWrite,
      writeLeft('a', new CoordinateSet()),
    ],
    says: /job a is live, yet nothing is left/,
  },
  {
    name: 'a record in two live jobs',
    journal: [writeProgress(0, nothingRead(10)), ...job('a', [1, 2]), ...job('b', [2, 3])],
    says: /record 0:2 is in two live jobs/,
  },
  {
    name: 'a record in a job that progress would read again',
    journal: [writeProgress(0, nothingRead(2)), ...job('a', [1, 2])],
    says: /record 0:2 is in job a, but progress does not claim it/,
  },
  {
    name: 'a job over a partition that progress does not know',
    journal: job('a', [1]),
    says: /record 0:1 is in job a, but progress does not claim it/,
  },
];

for (const { name, journal, says } of CONTRADICTIONS) {
  test(`a journal with ${name} is refused at the barrier`, () => {
    assert.throws(
      () => fold(journal),
      (error) => error instanceof JournalFormatError && says.test(error.message),
    );
  });
}

test('a journal may contradict itself on the way to the barrier: only the whole is judged', () => {
  const view = new JournalView();
  for (const { key, value } of job('a', [1, 2])) view.fold(key, value);
  for (const { key, value } of job('b', [2])) view.fold(key, value);
  for (const { key, value } of writeJobEnd('a')) view.fold(key, value);
  const { key, value } = writeProgress(0, { ...nothingRead(1), claimed: OffsetSet.of([2]) });
  view.fold(key, value);
  assert.deepEqual([...view.finish().jobs.keys()], ['b']);
});

function nothingRead(watermark: number) {
  const claimed = new OffsetSet();
  return { seq: 1, watermark, claimed, replay: 0, read: watermark, last: null, start: 0 };
}

function job(id: string, offsets: readonly number[], createdMs = 1): [JournalWrite, JournalWrite] {
  const left = CoordinateSet.of(offsets.map((offset) => ({ partition: 0, offset })));
  const sources = [{ partition: 0, replay: 0, offsets: OffsetSet.of(offsets).encode() }];
  const line = {
    remoteId: `r-${id}`,
    kind: 'k',
    type: 't',
    attempt: 1,
    depth: 0,
    spent: 1,
    root: id,
    sequence: 1,
  };
  return [
    writeJob({
      id,
      ...line,
      count: offsets.length,
      bytes: 1,
      createdMs,
      oldestEventMs: 0,
      newestEventMs: 0,
      sources,
    }),
    writeLeft(id, left),
  ];
}

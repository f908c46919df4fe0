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
import { OffsetSet } from '../../../src/core/offset-set.ts';
import type { JournalWrite } from '../../../src/core/ports/kafka.ts';

function fold(journal: readonly JournalWrite[]): JournalState {
  const view = new JournalView();
  for (const { key, value } of journal) view.fold(key, value);
  return view.finish();
}

test('a journal folds to the same state, after any compaction', () => {
  // Jobs that begin, shrink and end, by id. Different jobs have different offsets.
  const step = fc.record({ id: fc.nat({ max: 3 }), left: fc.subarray([1, 2, 3]) });
  fc.assert(
    fc.property(fc.array(step), fc.nat(), fc.boolean(), (steps, cut, dropTombstones) => {
      const live = new Set<number>();
      const journal = steps.flatMap(({ id, left }, at): JournalWrite[] => {
        const progress = writeProgress(0, { ...nothingRead(1_000), seq: at });
        const offsets = (left.length === 0 ? [1] : left).map((offset) => 100 * (id + 1) + offset);
        if (!live.has(id)) {
          live.add(id);
          return [progress, ...job(`j${id}`, offsets)];
        }
        if (left.length > 0) return [progress, job(`j${id}`, offsets)[1]];
        live.delete(id);
        return [progress, ...writeJobEnd(`j${id}`)];
      });
      const upTo = cut % (journal.length + 1);
      const last = new Map(journal.slice(0, upTo).map(({ key }, at) => [key, at]));
      const compacted = journal.filter(
        ({ key, value }, at) =>
          at >= upTo || (last.get(key) === at && !(dropTombstones && value === null)),
      );
      assert.deepEqual(fold(compacted), fold(journal));
    }),
  );
});

test('jobs come oldest first, and the sequence is the highest of all progress records', () => {
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
    says: /job a has no record of its remainder/,
  },
  {
    name: 'a remainder without its job',
    journal: [writeProgress(0, nothingRead(10)), job('a', [1])[1] as JournalWrite],
    says: /job a has a remainder, but no job record/,
  },
  {
    name: 'a job with nothing left',
    journal: [
      writeProgress(0, nothingRead(10)),
      job('a', [1])[0] as JournalWrite,
      writeLeft('a', new CoordinateSet()),
    ],
    says: /job a is live, but has no remaining records/,
  },
  {
    name: 'a record in two live jobs',
    journal: [writeProgress(0, nothingRead(10)), ...job('a', [1, 2]), ...job('b', [2, 3])],
    says: /record 0:2 is in two live jobs/,
  },
  {
    name: 'a job with an unclaimed record',
    journal: [writeProgress(0, nothingRead(2)), ...job('a', [1, 2])],
    says: /record 0:2 is in job a, but progress does not claim it/,
  },
  {
    name: 'a job over a partition without progress',
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

test('a journal is checked only at the barrier, so it may contradict itself before the barrier', () => {
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

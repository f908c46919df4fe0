import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { BatchRecords, type CoordinateSet, type LiveJob } from '../../../src/core/journal/job.ts';
import { type JournalState, JournalView } from '../../../src/core/journal/journal-view.ts';
import { PartitionState } from '../../../src/core/journal/partition-state.ts';
import { commitMetadata, isOwnCommit, ShardState } from '../../../src/core/journal/shard-state.ts';
import { columnsOf } from '../../support/records/coordinates.ts';
import { actions, PARTITIONS, ShardHistory, timestampOf } from './shard-history.ts';

function replay(history: ShardHistory): JournalState {
  const view = new JournalView();
  for (const { key, value } of history.journal) view.fold(key, value);
  return view.finish();
}

function resume(history: ShardHistory): ShardState {
  const { progress, jobs, seq } = replay(history);
  const partitions = [...progress].map(
    ([partition, one]) => [partition, PartitionState.resume(partition, one)] as const,
  );
  return new ShardState(new Map(partitions), jobs, seq);
}

const plain = (sets: Iterable<readonly [string, CoordinateSet]>): [string, unknown][] =>
  [...sets]
    .map(([id, left]): [string, unknown] => [id, [...left]])
    .sort(([a], [b]) => (a < b ? -1 : 1));

test('after every step the journal says what the model says: each record is in one job, or settled, or still to be read (I1)', () => {
  fc.assert(
    fc.property(actions, (steps) => {
      const history = new ShardHistory(resume);
      for (const action of steps) {
        if (!history.run(action) && action.do !== 'restart') continue;
        const { jobs, progress } = replay(history);
        const left = [...jobs.values()].map((job) => [job.record.id, job.left] as const);
        assert.deepEqual(plain(left), plain(history.left()));
        const inMemory = [...history.state.jobs.values()].map(
          (job) => [job.record.id, job.left] as const,
        );
        assert.deepEqual(plain(inMemory), plain(history.left()));
        const uploaded = (of: ReadonlyMap<string, LiveJob>) =>
          [...of].filter(([, { isUploaded }]) => isUploaded).map(([id]) => id);
        if (action.do !== 'deadLetter')
          assert.deepEqual(uploaded(jobs).sort(), uploaded(history.state.jobs).sort());
        assert.equal(
          history.state.unsettled,
          left.reduce((sum, [, set]) => sum + set.size, 0),
        );
        for (const partition of PARTITIONS) {
          const { watermark, claimed, seq } =
            progress.get(partition) ?? assert.fail('every partition has progress');
          const fates = history.fates.get(partition);
          // Every offset that the journal gives up (below W, or claimed) is done or in a job: nothing is lost.
          for (let offset = 100; offset < watermark; offset++)
            assert.notEqual(fates?.get(offset) ?? 'waiting', 'waiting');
          for (const offset of claimed)
            assert.ok(offset >= watermark && fates?.get(offset) !== 'waiting');
          assert.deepEqual(history.committed.get(partition), {
            partition,
            offset: watermark,
            metadata: commitMetadata(seq),
          });
        }
      }
    }),
    { numRuns: 200 },
  );
});

test('progress that is written names every record that the shard has claimed, and W is the first that is not', () => {
  fc.assert(
    fc.property(actions, (steps) => {
      const history = new ShardHistory(resume);
      for (const action of steps) history.run(action);
      history.run({ do: 'progress', pick: 0, mask: 0 });
      const { progress } = replay(history);
      for (const partition of PARTITIONS) {
        const { watermark, claimed, read } = progress.get(partition) ?? assert.fail();
        assert.equal(watermark, history.watermark(partition));
        const expected = [...(history.fates.get(partition) ?? [])].filter(
          ([offset, fate]) => offset > watermark && fate !== 'waiting',
        );
        assert.deepEqual(
          [...claimed],
          expected.map(([offset]) => offset).sort((a, b) => a - b),
        );
        assert.ok(read >= watermark);
      }
      assert.equal(history.state.progressOnly(), undefined);
    }),
    { numRuns: 200 },
  );
});

test('a record that is in a job, settled or named twice cannot be claimed, and one that is not left cannot be moved or settled', () => {
  fc.assert(
    fc.property(actions, fc.nat(), (steps, pick) => {
      const history = new ShardHistory(resume);
      for (const action of steps) history.run(action);
      const partition = PARTITIONS[pick % PARTITIONS.length] as number;
      const taken = [...(history.fates.get(partition) ?? [])].filter(
        ([, fate]) => fate !== 'waiting',
      );
      const [offset, fate] = taken[pick % Math.max(1, taken.length)] ?? [];
      if (offset === undefined) return;
      const at = { partition, offset, timestampMs: timestampOf(offset) };
      assert.throws(
        () => history.state.submit(history.jobRecord([at]), new BatchRecords([at])),
        /is assigned already/,
      );
      assert.throws(() => history.state.deadLetter([at]), /is assigned already/);
      const job = history.liveJob(pick);
      if (job === undefined || (typeof fate === 'object' && fate.job === job.record.id)) return;
      const message = new RegExp(
        `record ${partition}:${offset} is not left in job ${job.record.id}`,
      );
      assert.throws(() => history.state.settle(job, columnsOf([at])), message);
      assert.throws(() => history.state.move(job, history.jobRecord([at]), [at]), message);
    }),
  );
});

test('the same record twice in one batch, or in one list of dead letters, is refused before anything is claimed', () => {
  const history = new ShardHistory(resume);
  history.run({ do: 'take', pick: 0, mask: 0 });
  const [at] = history.waiting(0xffff);
  assert.ok(at);
  assert.throws(() => history.state.deadLetter([at, at]), /would end as two dead letters/);
  assert.throws(() => new BatchRecords([at, at]), /is in the batch already/);
  assert.equal(history.state.progressOnly(), undefined);
  history.state.submit(history.jobRecord([at]), new BatchRecords([at]));
});

test('a job whose last record is settled or moved ends: both of its journal records become tombstones', () => {
  const history = new ShardHistory(resume);
  history.run({ do: 'take', pick: 0, mask: 3 });
  history.run({ do: 'submit', pick: 0, mask: 0xffff });
  const first = history.liveJob(0) ?? assert.fail();
  const next = history.jobRecord([...first.left], first.record);
  const step = history.state.move(first, next, [...first.left]);
  assert.deepEqual(
    step.journal.map(({ key, value }) => [key, value === null]),
    [
      [`job/${next.id}`, false],
      [`job/${next.id}/left`, false],
      [`job/${first.record.id}`, true],
      [`job/${first.record.id}/left`, true],
    ],
  );
  const job = history.state.jobs.get(next.id) ?? assert.fail();
  const end = history.state.settle(job, columnsOf(job.left));
  assert.deepEqual(end.journal, [
    { key: `job/${next.id}`, value: null },
    { key: `job/${next.id}/left`, value: null },
  ]);
  assert.equal(history.state.jobs.size, 0);
});

test('a remote id is known while a job has it, and the batches of a line are those of its furthest job', () => {
  const history = new ShardHistory(resume);
  history.run({ do: 'take', pick: 0, mask: 3 });
  history.run({ do: 'submit', pick: 0, mask: 0xffff });
  const first = history.liveJob(0) ?? assert.fail();
  assert.equal(history.state.hasRemoteId(first.record.remoteId), true);
  const [one, ...rest] = [...first.left];
  assert.ok(one);
  const next = { ...history.jobRecord([one], first.record), spent: 7 };
  history.state.move(first, next, [one]);
  assert.equal(history.state.spentInLine(first.record.root), 7);
  assert.equal(history.state.spentInLine('another line'), 0);
  history.state.settle(first, columnsOf(rest));
  assert.equal(history.state.hasRemoteId(first.record.remoteId), false);
  assert.equal(history.state.hasRemoteId(next.remoteId), true);
});

test('a partition of another shard is refused by name', () => {
  const history = new ShardHistory(resume);
  assert.throws(
    () => history.state.deadLetter([{ partition: 2, offset: 1, timestampMs: 0 }]),
    /partition 2 is not in this shard/,
  );
});

test('only what this connector committed counts as its own commit', () => {
  fc.assert(fc.property(fc.nat(), (seq) => assert.equal(isOwnCommit(commitMetadata(seq)), true)));
  for (const foreign of ['', 'v1:', 'v1:1 ', 'NONE', '1', 'xv1:1', 'v:1'])
    assert.equal(isOwnCommit(foreign), false, foreign);
  assert.equal(isOwnCommit('v2:7'), true, 'a newer version of this connector');
});

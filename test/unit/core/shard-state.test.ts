/** Steps that a shard refuses, as the last defence of exactly-once. The simulation tests the allowed steps. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Coordinates } from '../../../src/core/bytes/encoded-records.ts';
import { BatchRecords, type JobRecord, sourcesOf } from '../../../src/core/journal/job.ts';
import { PartitionState } from '../../../src/core/journal/partition-state.ts';
import { commitMetadata, isOwnCommit, ShardState } from '../../../src/core/journal/shard-state.ts';
import type { SourceCoordinate } from '../../../src/core/record.ts';

const at = (offset: number) => ({ partition: 0, offset, timestampMs: offset });

/** Returns coordinates of source records by column. */
const columnsOf = (rows: readonly SourceCoordinate[]): Coordinates => ({
  length: rows.length,
  partition: (row) => rows[row]?.partition ?? -1,
  offset: (row) => rows[row]?.offset ?? -1,
});

function jobOf(id: string, records: BatchRecords): JobRecord {
  const line = { kind: 'k', type: 't', attempt: 1, depth: 0, spent: 1, root: id, sequence: 1 };
  const times = { createdMs: 0, oldestEventMs: 0, newestEventMs: 0 };
  const sources = sourcesOf(records, () => 0);
  return { id, remoteId: id, ...line, ...times, count: records.size, bytes: 1, sources };
}

/** Returns a shard with one partition, and a function that submits offsets. */
function shard() {
  const state = new ShardState(new Map([[0, PartitionState.startAt(0, 0)]]), new Map(), 0);
  const submit = (id: string, offsets: readonly number[]) => {
    const records = new BatchRecords(offsets.map(at));
    state.submit(jobOf(id, records), records);
    return state.jobs.get(id) ?? assert.fail();
  };
  return { state, submit };
}

test('a record that is in a job or settled is not assigned again', () => {
  const { state, submit } = shard();
  const job = submit('one', [1, 2]);
  state.settle(job, columnsOf([at(1)]));
  state.deadLetter([at(4)]);
  for (const offset of [1, 2, 4]) {
    assert.throws(() => submit('other', [3, offset]), /is already assigned/);
    assert.throws(() => state.deadLetter([at(3), at(offset)]), /is already assigned/);
  }
  assert.deepEqual([...submit('free', [3]).left], [{ partition: 0, offset: 3 }]);
});

test('a record that is no longer in a job is neither settled nor moved', () => {
  const { state, submit } = shard();
  const job = submit('one', [1, 2]);
  state.settle(job, columnsOf([at(1)]));
  for (const offset of [1, 3]) {
    const message = new RegExp(`record 0:${offset} is not among the remaining records of job one`);
    assert.throws(() => state.settle(job, columnsOf([at(offset)])), message);
    const records = new BatchRecords([at(offset)]);
    assert.throws(() => state.move(job, jobOf('next', records), records), message);
  }
});

test('a record that occurs twice in one batch or among dead letters is refused', () => {
  const { state } = shard();
  assert.throws(() => state.deadLetter([at(1), at(1)]), /would get two dead letters/);
  assert.throws(() => new BatchRecords([at(1), at(1)]), /is already in the batch/);
});

test('a partition of another shard is refused with its number', () => {
  assert.throws(
    () => shard().state.deadLetter([{ ...at(1), partition: 2 }]),
    /partition 2 is not in this shard/,
  );
});

test('only offsets that the connector committed count as own commits', () => {
  for (const seq of [0, 1, 2 ** 40]) assert.equal(isOwnCommit(commitMetadata(seq)), true);
  for (const foreign of ['', 'v1:', 'v1:1 ', 'NONE', '1', 'xv1:1', 'v:1'])
    assert.equal(isOwnCommit(foreign), false, foreign);
  assert.equal(isOwnCommit('v2:7'), true, 'a newer version of this connector');
});

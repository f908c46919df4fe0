import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { PartitionProgress } from '../../../src/core/journal/journal-records.ts';
import {
  PartitionState,
  resetProgress,
  type UnreadRange,
} from '../../../src/core/journal/partition-state.ts';
import { OffsetSet } from '../../../src/core/offset-set.ts';

const timestampOf = (offset: number): number => 5_000 + offset * 3;

test('progress has the watermark, the offsets assigned above it and the newest record, for any order of assignment', () => {
  const state = PartitionState.resume(0, { seq: 1, ...progress(10, [14]) });
  state.newest.position = 18;
  state.passGap(15, 17);
  for (const offset of [12, 11, 10]) state.assign(offset, timestampOf(offset));
  assert.equal(state.unassignedIn(0, 18), 2);
  const { watermark, claimed, read, last } = state.snapshot(2);
  assert.deepEqual([watermark, [...claimed], read], [13, [14, 15, 16], 18]);
  assert.deepEqual(last, { offset: 12, timestampMs: timestampOf(12) });
  state.newest.position = 12;
  assert.equal(
    state.snapshot(3).read,
    13,
    'assigned offsets count as read, even if intake moves back',
  );
});

test('a gap of a hundred million offsets below the watermark costs neither time nor memory', () => {
  const state = PartitionState.startAt(0, 7);
  state.passGap(7, 100_000_000);
  state.newest.position = 100_000_000;
  assert.deepEqual([state.watermark, state.width], [100_000_000, 0]);
  assert.equal(state.snapshot(1).claimed.size, 0);
});

test('the last claimed record is read again if it is near the position, because another timestamp means another topic', () => {
  const resumed = () =>
    PartitionState.resume(0, {
      seq: 1,
      ...progress(20, []),
      last: { offset: 15, timestampMs: timestampOf(15) },
    });
  const state = resumed();
  state.seekToLastAssigned(0);
  assert.equal(state.position, 15);
  assert.equal(state.matches(14, 1), true, 'only the last claimed record is known');
  assert.equal(state.matches(15, timestampOf(15) + 1), false);
  assert.equal(state.matches(15, timestampOf(15)), true);
  assert.equal(state.matches(15, 1), true, 'recognised before: not checked again');

  const trimmed = resumed();
  trimmed.seekToLastAssigned(16);
  assert.equal(trimmed.position, 20, 'removed by retention: not checked');
  const at = resumed();
  at.seekToLastAssigned(15);
  assert.equal(at.position, 15, 'the first record in the log can be checked');

  const far = PartitionState.resume(0, {
    seq: 1,
    ...progress(20_000, []),
    last: { offset: 9_999, timestampMs: 1 },
  });
  far.seekToLastAssigned(0);
  assert.equal(far.position, 20_000, 'too far back to read again');
  const near = PartitionState.resume(0, {
    seq: 1,
    ...progress(20_000, []),
    last: { offset: 10_000, timestampMs: 1 },
  });
  near.seekToLastAssigned(0);
  assert.equal(near.position, 10_000);

  const above = PartitionState.resume(0, {
    seq: 1,
    ...progress(20, [25]),
    last: { offset: 25, timestampMs: timestampOf(25) },
  });
  above.seekToLastAssigned(0);
  assert.equal(above.position, 20, 'intake will read the record anyway');
  assert.equal(above.matches(25, 0), false);
});

test('a reset follows the rule of the model: claimed := (claimed and not back) or skipped', () => {
  const offsets = fc.uniqueArray(fc.integer({ min: 0, max: 60 }), { maxLength: 40, size: 'max' });
  fc.assert(
    fc.property(
      fc.nat({ max: 50 }),
      offsets,
      offsets,
      fc.nat({ max: 70 }),
      fc.nat({ max: 3 }),
      (watermark, some, others, offset, replay) => {
        const claimedAbove = some.filter((one) => one > watermark);
        const isAssigned = (one: number) => one < watermark || claimedAbove.includes(one);
        const live = OffsetSet.of(others.filter(isAssigned));
        const before = {
          seq: 4,
          ...progress(watermark, claimedAbove),
          start: watermark,
          replay,
          last: { offset: 0, timestampMs: 0 },
        };
        const result = resetProgress(before, offset, live);

        const after = PartitionState.begin(0, result.progress);
        let skipped = 0;
        for (let one = 0; one < 100; one++) {
          const back = one >= offset && !live.has(one);
          const skip = one < offset && !isAssigned(one);
          if (skip) skipped++;
          assert.equal(after.isAssigned(one), (isAssigned(one) && !back) || skip, `offset ${one}`);
        }
        assert.equal(result.skipped, skipped);
        assert.equal(result.progress.replay, replay + 1);
        assert.equal(result.progress.last, null);
        for (let one = 0; one < 100; one++) {
          const answersFor = one >= watermark || one >= offset;
          assert.equal(one >= result.progress.start, answersFor, `offset ${one}`);
        }
        assert.ok(after.position >= offset && !after.isAssigned(after.position));
        assert.deepEqual(
          [...before.claimed],
          [...OffsetSet.of(claimedAbove)],
          'the record of the journal is unchanged',
        );
      },
    ),
    { numRuns: 500 },
  );
});

test('ranges that intake leaps over stay unread until they are read, in any order of reads and leaps', () => {
  const step = fc.record({
    do: fc.constantFrom('read', 'read', 'leap', 'settle', 'settle'),
    which: fc.nat({ max: 5 }),
    count: fc.integer({ min: 1, max: 8 }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const state = PartitionState.startAt(0, 0);
      const ranges = [state.newest];
      const read = new Set<number>();
      const assigned = new Set<number>();
      for (const { do: what, which, count } of steps) {
        if (what === 'read') {
          const range = ranges[which % ranges.length] as UnreadRange;
          const to = Math.min(range.end, range.position + count);
          for (let offset = range.position; offset < to; offset++) read.add(offset);
          state.taken += to - range.position;
          state.advance(range, to);
        } else if (what === 'leap') {
          const { position } = state.newest;
          // The fetched records up to `from` have not been taken yet.
          const from = position + (which % 3);
          ranges.push(state.leap(from, from + count), state.newest);
        } else {
          const [offset] = [...read].filter((one) => !assigned.has(one)).slice(which);
          if (offset === undefined) continue;
          assigned.add(offset);
          state.assignRange(offset, offset + 1);
        }
        const top = state.position;
        const unread = Array.from({ length: top }, (_, n) => n).filter((one) => !read.has(one));
        const written = state.snapshot(1);
        assert.equal(state.unread, unread.length);
        const waiting = read.size - assigned.size;
        const hasBacklog = unread.length > 0;
        assert.equal(state.width, hasBacklog ? waiting : top - written.watermark);
        state.progressBytes = 7;
        assert.equal(state.scatteredBytes, hasBacklog ? 7 : 0);
        assert.equal(state.isAtRest, assigned.size === read.size);
        assert.equal(written.read, Math.max(unread[0] ?? top, written.watermark));
        assert.ok(unread.every((one) => !state.isAssigned(one)));
      }
    }),
  );
});

function progress(watermark: number, claimed: readonly number[]): Omit<PartitionProgress, 'seq'> {
  const assigned = OffsetSet.of(claimed);
  return { watermark, claimed: assigned, replay: 0, read: watermark, last: null, start: 0 };
}

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Quota, type QuotaRecord } from '../../../src/core/journal/quota.ts';
import { SeededRandom } from '../../support/memory/clock.ts';

const MINUTE = 60_000;
const DAY = 86_400_000;
const NONE = Infinity;

/** Number of rows submitted in [fromMs, toMs). */
const rowsIn = (sent: readonly (readonly [number, number])[], fromMs: number, toMs: number) =>
  sent.reduce((sum, [atMs, rows]) => sum + (atMs >= fromMs && atMs < toMs ? rows : 0), 0);

test('no minute and no day has more rows than the quota, across any changes of the owner', () => {
  const limits = fc.record({
    rowsPerMinute: fc.integer({ min: 8, max: 200 }),
    rowsPerDay: fc.oneof(fc.constant(NONE), fc.integer({ min: 200, max: 2_000 })),
    rowsUnderReview: fc.constant(NONE),
  });
  const step = fc.record({
    part: fc.double({ min: 0.01, max: 1, noNaN: true }),
    idleMs: fc.oneof(fc.nat({ max: 2_000 }), fc.nat({ max: 2 * MINUTE })),
    restarts: fc.boolean(),
    /** Difference between the wall clocks of two owners. */
    stepMs: fc.constantFrom(0, 0, 3_600_000, -3_600_000),
  });
  fc.assert(
    fc.property(limits, fc.nat({ max: DAY }), fc.array(step), (bounds, startMs, steps) => {
      let nowMs = startMs + DAY;
      let aheadMs = 0;
      let journal: QuotaRecord | undefined;
      let quota = new Quota(bounds, nowMs);
      const sent: [atMs: number, rows: number][] = [];
      for (const { part, idleMs, restarts, stepMs } of steps) {
        nowMs += idleMs;
        if (restarts) {
          // Sets the clock only without a daily quota, because a correction of the clock also changes the length of a
          // day.
          if (bounds.rowsPerDay === NONE) aheadMs += stepMs;
          quota = new Quota(bounds, nowMs + aheadMs, structuredClone(journal));
        }
        const rows = Math.max(1, Math.floor(part * quota.maxRows(1)));
        const clockMs = nowMs + aheadMs;
        const waitMs = quota.waitMs(rows, clockMs);
        if (waitMs > 0)
          assert.ok(quota.waitMs(rows, clockMs + waitMs - 1) > 0, 'the wait is minimal');
        nowMs += waitMs;
        assert.equal(quota.waitMs(rows, nowMs + aheadMs), 0);
        journal = quota.spend(rows, nowMs + aheadMs);
        sent.push([nowMs, rows]);
      }
      for (const [atMs] of sent) {
        assert.ok(rowsIn(sent, atMs, atMs + MINUTE) <= bounds.rowsPerMinute);
        const dayMs = atMs - (atMs % DAY);
        assert.ok(rowsIn(sent, dayMs, dayMs + DAY) <= bounds.rowsPerDay);
      }
      assert.ok((journal?.seconds.length ?? 0) <= 62);
    }),
  );
});

test('while there is work, at least 95 % of the rows of a minute are submitted', () => {
  fc.assert(
    fc.property(fc.integer({ min: 200, max: 10_000 }), fc.nat(), (rowsPerMinute, seed) => {
      const random = new SeededRandom(seed);
      const quota = new Quota({ rowsPerMinute, rowsPerDay: NONE, rowsUnderReview: NONE }, 0);
      // Batches that were sealed by their age have fewer rows.
      const draw = () =>
        random.next() < 0.5 ? quota.maxRows(1) : 1 + random.below(quota.maxRows(1));
      let rows = draw();
      let submitted = 0;
      const minutes = 30;
      for (let nowMs = 0; nowMs < minutes * MINUTE; ) {
        const waitMs = quota.waitMs(rows, nowMs);
        nowMs += waitMs;
        if (waitMs > 0) continue;
        quota.spend(rows, nowMs);
        submitted += rows;
        rows = draw();
      }
      assert.ok(submitted >= 0.95 * minutes * rowsPerMinute, `${submitted}`);
    }),
  );
});

test('a batch waits while it would exceed the share of its lane in the rows under review, unless it is the only batch', () => {
  const limits = { rowsPerMinute: NONE, rowsPerDay: NONE, rowsUnderReview: 100 };
  const quota = new Quota(limits, 0);
  const waitMs = (rows: number, underReview: number, share: number) =>
    quota.waitMs(rows, 0, { rows: underReview, share });
  assert.deepEqual([waitMs(50, 50, 1), waitMs(51, 50, 1), waitMs(200, 0, 1)], [0, Infinity, 0]);
  assert.deepEqual([waitMs(20, 10, 0.3), waitMs(21, 10, 0.3)], [0, Infinity]);
  assert.equal(quota.waitMs(1_000, 0), 0, 'records of a retry are under review already');
  assert.equal(quota.left(0, 120).rowsUnderReview, 0);
  assert.equal(quota.maxRows(0.2), 5);
});

test('rows of an upload that cannot have arrived are free again, in the minute and the day of their count', () => {
  const limits = { rowsPerMinute: 10, rowsPerDay: 10, rowsUnderReview: NONE };
  const beforeMidnight = 10 * DAY - 1_000;
  const quota = new Quota(limits, beforeMidnight);
  quota.spend(6, beforeMidnight);
  quota.spend(4, beforeMidnight + 500);
  quota.takeBack(6, beforeMidnight);
  assert.deepEqual(quota.left(beforeMidnight, 0).rowsPerMinute, 6);
  assert.deepEqual(quota.left(beforeMidnight, 0).rowsPerDay, 6);
  quota.spend(3, 10 * DAY);
  quota.takeBack(4, beforeMidnight + 500);
  assert.equal(quota.left(10 * DAY, 0).rowsPerMinute, 7);
  assert.equal(quota.left(10 * DAY, 0).rowsPerDay, 7, 'the new day');
});

test('submissions with a timestamp in the future count for one minute from now', () => {
  const limits = { rowsPerMinute: 10, rowsPerDay: NONE, rowsUnderReview: NONE };
  const journal = new Quota(limits, 10 * DAY).spend(10, 10 * DAY);
  const quota = new Quota(limits, 5_000, journal);
  assert.equal(quota.waitMs(1, 5_000), 61_000);
});

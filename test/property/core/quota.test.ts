import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Quota, type QuotaRecord } from '../../../src/core/journal/quota.ts';

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
          // A correction of the clock also changes the length of a day.
          if (bounds.rowsPerDay === NONE) aheadMs += stepMs;
          quota = new Quota(bounds, nowMs + aheadMs, structuredClone(journal));
        }
        const rows = Math.max(1, Math.floor(part * quota.maxRows));
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
    fc.property(fc.integer({ min: 40, max: 10_000 }), (rowsPerMinute) => {
      const quota = new Quota({ rowsPerMinute, rowsPerDay: NONE }, 0);
      const rows = quota.maxRows;
      let submitted = 0;
      const minutes = 30;
      for (let nowMs = 0; nowMs < minutes * MINUTE; ) {
        const waitMs = quota.waitMs(rows, nowMs);
        nowMs += waitMs;
        if (waitMs > 0) continue;
        quota.spend(rows, nowMs);
        submitted += rows;
      }
      assert.ok(submitted >= 0.95 * minutes * (rowsPerMinute - 3), `${submitted}`);
    }),
  );
});

test('submissions with a timestamp in the future count for one minute from now', () => {
  const limits = { rowsPerMinute: 10, rowsPerDay: NONE };
  const journal = new Quota(limits, 10 * DAY).spend(10, 10 * DAY);
  const quota = new Quota(limits, 5_000, journal);
  assert.equal(quota.waitMs(1, 5_000), 61_000);
});

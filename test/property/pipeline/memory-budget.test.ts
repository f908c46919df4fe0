import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Lease } from '../../../src/core/ports/memory.ts';
import { MemoryBudget, type Share } from '../../../src/pipeline/limits/memory-budget.ts';

const turn = () => new Promise((resolve) => setImmediate(resolve));

interface Held {
  readonly share: Share;
  readonly lease: Lease;
}

test('every reservation is granted or aborted within its share, and all memory is returned', async () => {
  const reservations = fc.array(
    fc.record({
      share: fc.constantFrom<Share>('intake', 'work', 'reread'),
      bytes: fc.integer({ min: 1, max: 300 }),
      abort: fc.boolean(),
    }),
    { minLength: 1, maxLength: 20, size: 'max' },
  );
  await fc.assert(
    fc.asyncProperty(
      reservations,
      fc.array(fc.nat(), { minLength: 60, maxLength: 60 }),
      fc.nat({ max: 60 }),
      async (wanted, order, sealed) => {
        const budget = new MemoryBudget(100);
        const batches = budget.lease('intake', sealed);
        const holders: Held[] = [];
        let over = 0;
        for (const { share, bytes, abort } of wanted) {
          const control = new AbortController();
          void budget.reserve(share, bytes, control.signal).then(
            (lease) => holders.push({ share, lease }),
            () => over++,
          );
          if (abort) control.abort();
        }
        const bytesOf = (...shares: Share[]) =>
          holders
            .filter(({ share }) => shares.includes(share))
            .map(({ lease }) => lease.bytes)
            .sort((a, b) => a - b);
        const sum = (bytes: readonly number[]) => bytes.reduce((all, one) => all + one, 0);
        for (const pick of order) {
          await turn();
          assert.equal(budget.usedBytes, sealed + sum(holders.map(({ lease }) => lease.bytes)));
          const intake = bytesOf('intake');
          assert.ok(
            sealed + sum(intake) < 70 + Math.max(0, ...intake),
            'at most one reservation exceeds the share of intake',
          );
          const rereads = bytesOf('reread');
          assert.ok(rereads.length <= 1 || sum(rereads) <= 15);
          const [next] = holders.splice(pick % Math.max(1, holders.length), 1);
          if (next === undefined) break;
          next.lease[Symbol.dispose]();
          over++;
        }
        assert.equal(over, wanted.length, 'no reservation waits permanently');
        batches[Symbol.dispose]();
        assert.equal(budget.usedBytes, 0);
      },
    ),
    { numRuns: 300 },
  );
});

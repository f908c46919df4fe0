import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Lease } from '../../../src/core/ports/memory.ts';
import { MemoryBudget, type Share } from '../../../src/pipeline/limits/memory-budget.ts';

const turn = () => new Promise((resolve) => setImmediate(resolve));

interface Held {
  readonly budget: MemoryBudget;
  readonly share: Share;
  readonly lease: Lease;
}

test('every reservation is granted or aborted within its share, and all memory is returned', async () => {
  const reservations = fc.array(
    fc.record({
      share: fc.constantFrom<Share>('intake', 'work', 'reread'),
      bytes: fc.integer({ min: 1, max: 300 }),
      abort: fc.boolean(),
      service: fc.nat({ max: 2 }),
    }),
    { minLength: 1, maxLength: 20, size: 'max' },
  );
  await fc.assert(
    fc.asyncProperty(
      reservations,
      fc.array(fc.nat(), { minLength: 60, maxLength: 60 }),
      // Bytes of sealed batches, fewer than one of three services may hold, so that intake continues.
      fc.nat({ max: 45 }),
      fc.integer({ min: 1, max: 3 }),
      async (wanted, order, sealed, services) => {
        const budget = new MemoryBudget(100);
        const budgets = [
          budget,
          ...Array.from({ length: services - 1 }, () => new MemoryBudget(100, budget)),
        ];
        const batches = budget.lease('intake', sealed);
        const holders: Held[] = [];
        let over = 0;
        for (const { share, bytes, abort, service } of wanted) {
          const control = new AbortController();
          const by = budgets[service % services] as MemoryBudget;
          void by.reserve(share, bytes, control.signal).then(
            (lease) => holders.push({ budget: by, share, lease }),
            () => over++,
          );
          if (abort) control.abort();
        }
        const bytesOf = (budget: MemoryBudget, wanted: Share) =>
          holders
            .filter((held) => held.budget === budget && held.share === wanted)
            .map(({ lease }) => lease.bytes);
        const sum = (bytes: readonly number[]) => bytes.reduce((all, one) => all + one, 0);
        for (const pick of order) {
          await turn();
          assert.equal(budget.usedBytes, sealed + sum(holders.map(({ lease }) => lease.bytes)));
          const intakes = budgets.map((one) => bytesOf(one, 'intake'));
          assert.ok(
            sealed + sum(intakes.flat()) < 70 + sum(intakes.map((own) => Math.max(0, ...own))),
            'at most one reservation of a service exceeds the share of intake',
          );
          for (const rereads of budgets.map((one) => bytesOf(one, 'reread')))
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

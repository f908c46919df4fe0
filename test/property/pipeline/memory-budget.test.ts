import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { MemoryBudget } from '../../../src/pipeline/limits/memory-budget.ts';

const turn = () => new Promise((resolve) => setImmediate(resolve));

test('whatever work asks for, in whatever order it ends: it all gets through, and nothing stays counted', async () => {
  const jobs = fc.array(
    fc.record({ bytes: fc.integer({ min: 1, max: 300 }), abort: fc.boolean() }),
    {
      minLength: 1,
      maxLength: 20,
      size: 'max',
    },
  );
  await fc.assert(
    fc.asyncProperty(
      jobs,
      fc.array(fc.nat(), { minLength: 60, maxLength: 60 }),
      fc.nat({ max: 120 }),
      async (wanted, order, sealed) => {
        const budget = new MemoryBudget(100);
        budget.buffer(sealed);
        budget.seal(sealed);
        const holders: { bytes: number; release: () => void }[] = [];
        let over = 0;
        for (const { bytes, abort } of wanted) {
          const control = new AbortController();
          void budget.work(bytes, control.signal).then(
            (release) => holders.push({ bytes, release }),
            () => over++,
          );
          if (abort) control.abort();
        }
        for (const pick of order) {
          await turn();
          const held = holders.reduce((sum, { bytes }) => sum + bytes, 0);
          assert.equal(budget.usedBytes, sealed + held);
          assert.ok(
            holders.length <= 1 || held <= Math.max(30, 100 - sealed),
            'only one piece may be larger than what is free',
          );
          const [next] = holders.splice(pick % Math.max(1, holders.length), 1);
          if (next === undefined) break;
          next.release();
          over++;
        }
        assert.equal(over, wanted.length, 'nobody waits for ever');
        budget.unseal(sealed);
        assert.equal(budget.usedBytes, 0);
      },
    ),
    { numRuns: 100 },
  );
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import pLimit from 'p-limit';
import type { Lease } from '../../../src/core/ports/memory.ts';
import { inTurn, type Lane, Lanes, type Rank } from '../../../src/pipeline/limits/lanes.ts';
import { MemoryBudget } from '../../../src/pipeline/limits/memory-budget.ts';

const turn = () => new Promise((resolve) => setImmediate(resolve));
const SHARES = { live: { share: 0.5 }, archive: { share: 0.1 } };
const laneName = fc.constantFrom('live', 'archive', 'unknown');

test('turns are divided among the waiting lanes by their shares, retries of a lane go first, and no lane has every slot', async () => {
  const tasks = fc.array(
    fc.record({ name: laneName, isRetry: fc.boolean(), rows: fc.integer({ min: 1, max: 9 }) }),
    { maxLength: 30 },
  );
  await fc.assert(
    fc.asyncProperty(tasks, fc.integer({ min: 1, max: 4 }), async (wanted, permits) => {
      const lanes = new Lanes(SHARES, 1_000);
      const run = inTurn(pLimit(permits));
      const waiting = new Set<Rank>();
      const running = new Map<Rank, () => void>();
      const served = new Map<Lane, number>();
      const servedOf = (lane: Lane) => (served.get(lane) ?? 0) / lane.share;
      const maxOfLane = Math.max(1, permits - 1);
      const runningOf = (lane: Lane) =>
        [...running.keys()].filter((rank) => rank.lane === lane).length;
      const ended = wanted.map(({ name, isRetry, rows }) => {
        const rank = { lane: lanes.named(name), isRetry, rows };
        waiting.add(rank);
        return run(() => {
          waiting.delete(rank);
          for (const other of waiting) {
            if (other.lane === rank.lane) assert.ok(isRetry || !other.isRetry);
            // With a single slot, each lane is ahead by one task at most.
            else if (permits === 1)
              assert.ok(servedOf(rank.lane) <= servedOf(other.lane) + 9 / other.lane.share);
          }
          served.set(rank.lane, (served.get(rank.lane) ?? 0) + rows);
          return new Promise<void>((resolve) => running.set(rank, resolve));
        }, rank);
      });
      while (waiting.size > 0 || running.size > 0) {
        await turn();
        assert.ok(running.size <= permits);
        for (const { lane } of running.keys()) assert.ok(runningOf(lane) <= maxOfLane);
        if (running.size < permits)
          for (const { lane } of waiting) assert.equal(runningOf(lane), maxOfLane);
        const [next] = running;
        if (next === undefined) continue;
        running.delete(next[0]);
        next[1]();
      }
      await Promise.all(ended);
    }),
  );
});

const { signal } = new AbortController();

/** Budget that checks each lease of a lane when it is granted. */
class CheckedBudget extends MemoryBudget {
  override lease(...given: Parameters<MemoryBudget['lease']>): Lease {
    const [, , , lane] = given;
    if (lane !== undefined) assert.ok(lane.heldBytes < lane.share * 70 || this.usedBytes < 35);
    return super.lease(...given);
  }
}

test('a lane has room within its share or while half of intake is free, and each wait for room ends', async () => {
  const sizes = fc.array(fc.record({ name: laneName, bytes: fc.integer({ min: 1, max: 40 }) }), {
    minLength: 1,
    maxLength: 30,
  });
  await fc.assert(
    fc.asyncProperty(sizes, fc.nat({ max: 40 }), async (wanted, others) => {
      const budget = new CheckedBudget(100);
      const lanes = new Lanes(SHARES, 1_000);
      const other = budget.lease('intake', others);
      const leases: Lease[] = [];
      for (const { name, bytes } of wanted) {
        const lane = lanes.named(name);
        void budget.reserveFor(lane, bytes, signal).then((lease) => leases.push(lease));
      }
      for (let ended = 0; ended < wanted.length; ended++) {
        await turn();
        const next = leases.shift();
        assert.ok(next !== undefined, `${wanted.length - ended} wait`);
        next[Symbol.dispose]();
      }
      other[Symbol.dispose]();
      assert.equal(budget.usedBytes, 0);
      assert.ok(lanes.all.every(({ heldBytes }) => heldBytes === 0));
    }),
  );
});

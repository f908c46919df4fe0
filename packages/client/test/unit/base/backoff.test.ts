import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { backoffCeilingMs, fullJitterMs, retryWaitMs } from '../../../src/base/backoff.ts';
import { constantRandom } from '../service/fakes.ts';

const backoffs = fc.record({
  baseMs: fc.integer({ min: 1, max: 10_000 }),
  capMs: fc.integer({ min: 1, max: 10_000_000 }),
});
const draws = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
const attempts = fc.nat({ max: 5000 });

test('the ceiling doubles with every failure until the cap', () => {
  const ceilings = [0, 1, 2, 3, 4].map((attempt) =>
    backoffCeilingMs(attempt, { baseMs: 100, capMs: 1000 }),
  );
  assert.deepEqual(ceilings, [100, 200, 400, 800, 1000]);
});

test('a jittered wait lies between nothing and the ceiling, which never passes the cap, however many failures there were', () => {
  fc.assert(
    fc.property(attempts, backoffs, draws, (attempt, backoff, draw) => {
      const wait = fullJitterMs(attempt, backoff, constantRandom(draw));
      const ceiling = backoffCeilingMs(attempt, backoff);
      assert.ok(wait >= 0 && wait <= ceiling && ceiling <= backoff.capMs && Number.isFinite(wait));
    }),
  );
});

test('a wait is never shorter than its floor, and spreads above it', () => {
  fc.assert(
    fc.property(attempts, backoffs, draws, fc.nat(), (attempt, backoff, draw, floorMs) => {
      const wait = retryWaitMs(attempt, backoff, constantRandom(draw), floorMs);
      assert.ok(wait >= floorMs && wait <= floorMs + backoff.capMs);
    }),
  );
  assert.equal(retryWaitMs(0, { baseMs: 100, capMs: 100 }, constantRandom(0.5)), 50);
});

import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { parseRetryAfterMs } from '../../../src/service/error-classification.ts';

const NOW_MS = Date.UTC(2026, 5, 1, 12, 0, 0);

test('Retry-After in seconds becomes milliseconds', () => {
  assert.equal(parseRetryAfterMs('120', NOW_MS), 120_000);
  assert.equal(parseRetryAfterMs(' 0 ', NOW_MS), 0);
  assert.equal(parseRetryAfterMs('1.5', NOW_MS), 1500);
});

test('Retry-After as an HTTP date is counted from now, and a past date means at once', () => {
  fc.assert(
    fc.property(fc.integer({ min: -100_000, max: 86_400 }), (seconds) => {
      const header = new Date(NOW_MS + seconds * 1000).toUTCString();
      assert.equal(parseRetryAfterMs(header, NOW_MS), Math.max(0, seconds * 1000));
    }),
  );
});

test('any header gives undefined or a wait between zero and a day', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.nat().map(String), fc.date().map(String)), (header) => {
      const ms = parseRetryAfterMs(header, NOW_MS);
      assert.ok(ms === undefined || (ms >= 0 && ms <= 86_400_000));
    }),
  );
});

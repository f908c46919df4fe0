import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { parseRetryAfterMs } from '../../../src/service/error-classification.ts';

const NOW_MS = Date.UTC(2026, 5, 1, 12, 0, 0);

test('any header results in undefined or a wait between zero and a day', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.nat().map(String), fc.date().map(String)), (header) => {
      const ms = parseRetryAfterMs(header, NOW_MS);
      assert.ok(ms === undefined || (ms >= 0 && ms <= 86_400_000));
    }),
  );
});

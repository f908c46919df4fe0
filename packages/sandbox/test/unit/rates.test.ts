import assert from 'node:assert/strict';
import { test } from 'node:test';
import { faultRates } from '../../src/faults.ts';
import { parsePolicy } from '../../src/policy.ts';

test('a fault hits the share of its operation that its rate states, and others have their own chance', () => {
  const { faults } = parsePolicy({
    faults: [
      { operation: 'upload', action: 'reset_after', rate: 0.5 },
      { operation: 'upload', action: 'hang', rate: 0.25 },
      { operation: 'download', action: 'hang' },
    ],
  });
  const drawn = [0.4, 0.5, 0.2, 0.5, 0.25];
  const rates = faultRates(faults, () => drawn.shift() ?? 0);
  const isHit = (operation: 'upload' | 'download' | 'get_batch') =>
    rates.ofRequest(operation, undefined) !== undefined;
  assert.deepEqual([isHit('upload'), isHit('upload'), isHit('upload')], [true, true, false]);
  assert.ok(isHit('download'), 'the default is every operation');
  assert.ok(!isHit('get_batch'));
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FaultRates } from '../../src/faults.ts';
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
  const rates = new FaultRates(faults, { next: () => drawn.shift() ?? 0 });
  assert.equal(rates.take('upload')?.action, 'reset_after');
  assert.equal(rates.take('upload')?.action, 'hang');
  assert.equal(rates.take('upload'), undefined);
  assert.equal(rates.take('download')?.action, 'hang', 'the default is every operation');
  assert.equal(rates.take('get_batch'), undefined);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FaultInput, FaultOperation } from '../../../src/sandbox/faults/schema.ts';
import { FaultScript } from '../../../src/sandbox/faults/script.ts';

function script(...faults: FaultInput[]) {
  const made = new FaultScript([]);
  made.append(faults);
  const take = (operation: FaultOperation, type = 'a') => made.take(operation, type)?.action;
  return { made, take };
}

test('faults of one operation strike in the order of the script, each as often as it says', () => {
  const { take } = script(
    { operation: 'create_batch', action: 'hang', times: 2 },
    { operation: 'get_batch', action: 'reset_before' },
    { operation: 'create_batch', action: 'reset_after' },
  );
  assert.deepEqual(
    [1, 2, 3, 4].map(() => take('create_batch')),
    ['hang', 'hang', 'reset_after', undefined],
  );
  assert.deepEqual(
    [1, 2].map(() => take('get_batch')),
    ['reset_before', undefined],
  );
});

test('a fault may be for one content type only', () => {
  const { take } = script({ operation: 'upload', action: 'hang', match: { type: 'b' } });
  assert.deepEqual(
    [take('upload', 'a'), take('upload', 'b'), take('upload', 'b')],
    [undefined, 'hang', undefined],
  );
});

test('skip lets operations pass first, to later entries of the script', () => {
  const { take } = script(
    { operation: 'upload', action: 'hang', skip: 2 },
    { operation: 'upload', action: 'reset_before' },
  );
  assert.deepEqual(
    [1, 2, 3, 4].map(() => take('upload')),
    ['reset_before', undefined, 'hang', undefined],
  );
});

test('always never ends', () => {
  const { take, made } = script({ operation: 'upload', action: 'hang', times: 'always' });
  for (let i = 0; i < 100; i++) assert.equal(take('upload'), 'hang');
  assert.equal(made.entries()[0]?.fired, 100);
});

test('append adds to the end, replace starts again, and the script reports the hits of each entry', () => {
  const { made, take } = script({ operation: 'upload', action: 'hang' });
  take('upload');
  made.append([{ operation: 'upload', action: 'reset_before' }]);
  assert.deepEqual(
    made.entries().map(({ fault, fired }) => [fault.action, fired]),
    [
      ['hang', 1],
      ['reset_before', 0],
    ],
  );
  made.replace([{ operation: 'upload', action: 'reset_after' }]);
  assert.equal(take('upload'), 'reset_after');
  assert.equal(made.entries().length, 1);
});

test('a wrong fault changes nothing', () => {
  const { made } = script({ operation: 'upload', action: 'hang' });
  const wrong: FaultInput[] = JSON.parse('[{"operation":"upload","action":"cut","afterBytes":1}]');
  assert.throws(() => made.replace(wrong), /\[0\]\.operation: found "upload"; allowed: download/);
  assert.equal(made.entries().length, 1);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MetadataPlans } from '../../../../../src/kinds/review/results/metadata-plans.ts';
import { readResultHeader } from '../../../../../src/kinds/review/results/result-header.ts';

const WIDTH = 2_000;
const KEYS = Array.from({ length: WIDTH }, (_, n) => `k${n}`);

const plansOf = (names: readonly string[]) =>
  new MetadataPlans(
    readResultHeader(['Status', 'connector_ref', ...names], { referenceColumn: 'connector_ref' }),
  );

test('a shape that names a column twice has no plan', () => {
  const plans = plansOf(['a', 'b']);
  assert.deepEqual(
    plans.byShape.of('a,=b')?.map(({ lead }) => String(lead)),
    ['"a":', ',"b":'],
  );
  for (const shape of ['a,a', 'a,=a', 'b,a,b', 'a,b,a,b,a'])
    assert.equal(plans.byShape.of(shape), undefined, shape);
});

test('a file whose rows name the same columns in ever other orders does not fill memory with plans', () => {
  const plans = plansOf(KEYS);
  const rotated = (n: number) => [...KEYS.slice(n), ...KEYS.slice(0, n)].join(',');
  const first = plans.byShape.of(rotated(0));
  assert.ok(first !== undefined);
  assert.equal(plans.byShape.of(rotated(0)), first, 'a shape that comes again is not read again');
  for (let n = 1; n < 50; n++) plans.byShape.of(rotated(n));
  assert.notEqual(plans.byShape.of(rotated(0)), first);
});

test('columns that no shape and no carried key names are unclaimed', () => {
  const plans = plansOf(['lang', 'score']);
  assert.deepEqual(plans.unclaimed(), [2, 3]);
  assert.equal(plans.byShape.of('score,missing'), undefined);
  assert.deepEqual(plans.unclaimed(), [2]);
  plans.claim('lang');
  plans.claim('missing');
  assert.deepEqual(plans.unclaimed(), []);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readResultHeader } from '../../../../src/review/result-header.ts';
import { MetadataPlans } from '../../../../src/review/results/metadata-plans.ts';

const header = readResultHeader(['Status', 'lang', 'score', 'connector_ref'], { referenceColumn: 'connector_ref' });

test('a plan is made once for a shape, and is forgotten when shapes of many keys come', () => {
  const plans = new MetadataPlans(header);
  const first = plans.of('lang,=score');
  assert.equal(plans.of('lang,=score'), first);
  assert.deepEqual(
    first?.map(({ index, lead, json }) => [index, lead, json]),
    [
      [1, '"lang":', false],
      [2, ',"score":', true],
    ],
  );
  for (let n = 1; n <= 10; n++) plans.of('lang,'.repeat(4000 + n).slice(0, -1));
  assert.notEqual(plans.of('lang,=score'), first);
});

test('columns that no shape and no carried key names are unclaimed', () => {
  const plans = new MetadataPlans(header);
  assert.deepEqual(plans.unclaimed(), [1, 2]);
  assert.equal(plans.of('score,missing'), undefined);
  assert.deepEqual(plans.unclaimed(), [1]);
  plans.claim('lang');
  plans.claim('missing');
  assert.deepEqual(plans.unclaimed(), []);
});

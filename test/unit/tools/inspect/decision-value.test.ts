import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readDecision } from '../../../../src/tools/inspect/decision-value.ts';
import { contractFile } from '../../../support/contracts.ts';

test('a value that another application wrote never fails the reading of decisions', () => {
  const read = (json: string) => readDecision(Buffer.from(json));
  assert.equal(read('null'), null);
  const odd = '{"toString":1,"valueOf":1}';
  const found = read(`{"status":${odd},"batch":{"type":${odd},"attempt":${odd}},"error":1}`);
  assert.equal(found?.status, odd);
  assert.equal(found?.batch.type, odd);
  assert.equal(read('5'), null);
  assert.equal(read('{"result":5}')?.result, null);
  assert.equal(read('\u0000\u0000\u0000\u0003\u0009'), null);
});

test('a decision in JSON is shown without its metadata and labels', () => {
  const json = contractFile('examples/decision.json');
  const { status, result, batch } = JSON.parse(json);
  const { id, type, attempt } = batch;
  assert.deepEqual(readDecision(Buffer.from(json)), {
    ...{ status, result, errorCode: null },
    batch: { id, type, attempt },
  });
});

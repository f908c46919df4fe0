import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readDecision } from '../../../../src/tools/inspect/decision-value.ts';

test('values of other applications do not make reading decisions fail', async () => {
  const read = (json: string) => readDecision(Buffer.from(json), undefined);
  assert.equal(await read('null'), null);
  const odd = '{"toString":1,"valueOf":1}';
  const found = await read(`{"status":${odd},"batch":{"type":${odd},"attempt":${odd}},"error":1}`);
  assert.equal(found?.status, odd);
  assert.equal(found?.batch.type, odd);
  assert.equal(await read('5'), null);
  assert.equal((await read('{"result":5}'))?.result, null);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { resumedRows } from '../../../src/client/results.ts';
import { ServiceError } from '../../../src/core/outcome/service-error.ts';
import { VirtualClock } from '../../support/memory/clock.ts';

test('a row of commas ends the reading of results before it takes memory', async () => {
  let asked = 0;
  const piece = Buffer.alloc(64 * 1024, ',');
  const chunks = async function* () {
    yield Buffer.from('Content,Status,Acme result,Labels\nx,SUCCESS,spam,\n');
    for (; asked < 90 * 1024 * 1024; asked += piece.length) yield piece;
  };
  const { signal } = new AbortController();
  const rows = resumedRows(new VirtualClock(), { signal }, async () => ({
    chunks: chunks(),
    expectedRows: undefined,
  }));
  assert.equal((await rows.next()).value?.content, 'x');
  await assert.rejects(
    rows.next(),
    (error) => error instanceof ServiceError && /more than 16384 columns/.test(error.message),
  );
  assert.ok(asked < 1024 * 1024, `${asked} bytes were read`);
});

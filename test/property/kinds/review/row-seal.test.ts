import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stringify } from 'csv-stringify/sync';
import fc from 'fast-check';
import {
  collectRows,
  contentItem,
  JOB,
  kindWithFile,
  referenceOf,
} from '../../../unit/kinds/review/sample.ts';
import { headers, hostileText, keyBytes, metadataText } from './hostile.ts';

const FORGED = [{ malformed: 'the reference is not the one that was uploaded', forged: true }];

const item = fc
  .record({
    key: keyBytes,
    headers,
    replay: fc.nat(2),
    partition: fc.nat(),
    offset: fc.maxSafeNat(),
    timestampMs: fc.integer(),
    metadata: metadataText,
    expected: fc.option(hostileText, { nil: undefined }),
    content: hostileText,
  })
  .map(contentItem);

async function rowsOf(reference: string, job = JOB) {
  const file = stringify([
    ['Content', 'a', 'Status', 'Acme result', 'connector_ref'],
    ['hello', 'x', 'SUCCESS', 'ok', reference],
  ]);
  return (await collectRows(kindWithFile(file), undefined, job)).rows;
}

test('a changed reference gives either no decision or the decision of the unchanged reference', async () => {
  const change = fc.record({ at: fc.nat(), character: fc.constantFrom('0', '"', '{', 'A', 'é') });
  await fc.assert(
    fc.asyncProperty(item, change, async (of, { at, character }) => {
      const reference = referenceOf(of);
      const expected = await rowsOf(reference);
      assert.ok(expected[0] !== undefined && 'record' in expected[0]);
      const place = at % reference.length;
      for (const changed of [
        reference.slice(0, place) + character + reference.slice(place + 1),
        reference.slice(0, place) + reference.slice(place + 1),
        reference.slice(0, place),
        reference.slice(0, place) + character + reference.slice(place),
        reference + reference,
      ]) {
        const [row] = await rowsOf(changed);
        // Some changes have no effect, because Base64 decoding ignores invalid characters and the unused last bits.
        if (row === undefined || !('malformed' in row)) assert.deepEqual([row], expected);
      }
      assert.deepEqual(await rowsOf(referenceOf(of, { rowKey: 'B'.repeat(22) })), FORGED);
      assert.deepEqual(await rowsOf(reference, { ...JOB, rowKey: 'C'.repeat(22) }), FORGED);
    }),
    { numRuns: 300 },
  );
});

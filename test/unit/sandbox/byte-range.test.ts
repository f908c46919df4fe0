import assert from 'node:assert/strict';
import { test } from 'node:test';
import { byteRange } from '../../../src/sandbox/storage/storage-routes.ts';

test('ranges are read as S3 reads them', () => {
  assert.deepEqual(byteRange('bytes=0-4', 10), { start: 0, end: 4 });
  assert.deepEqual(byteRange('bytes=5-', 10), { start: 5, end: 9 });
  assert.deepEqual(byteRange('bytes=5-99', 10), { start: 5, end: 9 });
  assert.deepEqual(byteRange('bytes=-3', 10), { start: 7, end: 9 });
  assert.deepEqual(byteRange('bytes=-99', 10), { start: 0, end: 9 });
});

test('a range that begins past the end cannot be satisfied', () => {
  for (const range of ['bytes=10-', 'bytes=10-20', 'bytes=-0'])
    assert.equal(byteRange(range, 10), 'unsatisfiable');
  assert.equal(byteRange('bytes=0-', 0), 'unsatisfiable');
});

test('no range, several, or one that cannot be read means the whole file', () => {
  for (const range of [
    undefined,
    'bytes=0-1,4-5',
    'bytes=-',
    'bytes=4-2',
    'lines=1-2',
    'bytes=a-b',
  ]) {
    assert.equal(byteRange(range, 10), undefined);
  }
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  MAX_COLUMNS,
  NOT_WHOLE,
  RowScanner,
} from '../../../../../packages/client/src/results/row-scanner.ts';

test('a cell with text after a closing quote is read as unquoted', () => {
  const scanner = new RowScanner();
  for (const text of ['"a"b', '"a"\rb', '"a" ', '"a,b"c', '"a"b"c"']) {
    scanner.scan(Buffer.from(`${text},x\n`), 0);
    assert.deepEqual(scanner.texts(), [text, 'x']);
  }
});

test('the number of cells in a row is limited', () => {
  const scan = (text: string) => new RowScanner().scan(Buffer.from(text), 0);
  assert.equal(scan(','.repeat(MAX_COLUMNS - 1)), NOT_WHOLE);
  assert.equal(scan(`${','.repeat(MAX_COLUMNS - 1)}\n`), MAX_COLUMNS);
  assert.throws(() => scan(','.repeat(MAX_COLUMNS)), /more than 16384 columns/);
});

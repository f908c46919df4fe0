import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  MAX_COLUMNS,
  NOT_WHOLE,
  RowScanner,
} from '../../../../../packages/client/src/results/row-scanner.ts';

const ROW = '"a ""b"", c",d,"",\r,"\r\n",e""f\r\n';
const CELLS = ['a "b", c', 'd', '', '\r', '\r\n', 'e""f'];

test('a row is cut wherever its bytes begin, and an empty line has no cells', () => {
  const bytes = Buffer.from(`x,y\n\r\n\n${ROW}`);
  const scanner = new RowScanner();
  const cells: string[][] = [];
  for (let at = 0; at < bytes.length; ) {
    at = scanner.scan(bytes, at);
    assert.ok(at > 0);
    cells.push(scanner.texts());
  }
  assert.deepEqual(cells, [['x', 'y'], [], [], CELLS]);
});

test('a row without an end is not whole, wherever it is cut', () => {
  const bytes = Buffer.from(ROW);
  const scanner = new RowScanner();
  for (let length = 0; length < bytes.length; length++)
    assert.equal(scanner.scan(bytes.subarray(0, length), 0), NOT_WHOLE, `${length} bytes`);
});

test('text after a closing quote makes the cell a bare one', () => {
  const scanner = new RowScanner();
  for (const text of ['"a"b', '"a"\rb', '"a" ', '"a,b"c', '"a"b"c"']) {
    scanner.scan(Buffer.from(`${text},x\n`), 0);
    assert.deepEqual(scanner.texts(), [text, 'x']);
  }
});

test('a row has a limit of cells', () => {
  const scan = (text: string) => new RowScanner().scan(Buffer.from(text), 0);
  assert.equal(scan(','.repeat(MAX_COLUMNS - 1)), NOT_WHOLE);
  assert.equal(scan(`${','.repeat(MAX_COLUMNS - 1)}\n`), MAX_COLUMNS);
  assert.throws(() => scan(','.repeat(MAX_COLUMNS)), /more than 16384 columns/);
});

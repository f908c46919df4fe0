import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  MAX_COLUMNS,
  NOT_WHOLE,
  RowScanner,
  UNKNOWN,
} from '../../../../../src/kinds/review/results/row-scanner.ts';

const ROW = '"a ""b"", c",d,"",\r,"\r\n",e""f\r\n';
const CELLS = ['a "b", c', 'd', '', '\r', '\r\n', 'e""f'];

test('a scan that is resumed does not look at the bytes before it again', () => {
  const whole = Buffer.from(ROW);
  const scanner = new RowScanner();
  // What the scanner was given byte by byte is overwritten, except for the last three bytes: a closing quote and a line end.
  const bytes = Buffer.alloc(whole.length);
  let next = NOT_WHOLE;
  for (let length = 1; length <= whole.length; length++) {
    bytes[length - 1] = whole[length - 1] as number;
    bytes.fill('"', 0, Math.max(0, length - 4));
    const seen = bytes.subarray(0, length);
    next = length === 1 ? scanner.scan(seen, 0) : scanner.resume(seen);
    assert.equal(next, length < whole.length ? NOT_WHOLE : length);
  }
  scanner.bytes = whole;
  assert.deepEqual(scanner.texts(), CELLS);
});

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

test('text behind a closing quote and rows of too many cells are left to csv-parse at once', () => {
  const scan = (text: string) => new RowScanner().scan(Buffer.from(text), 0);
  assert.equal(scan('"a"b'), UNKNOWN);
  assert.equal(scan('"a"\rb'), UNKNOWN);
  assert.equal(scan('"a" ,b\n'), UNKNOWN);
  assert.equal(scan(','.repeat(MAX_COLUMNS - 1)), NOT_WHOLE);
  assert.equal(scan(`${','.repeat(MAX_COLUMNS - 1)}\n`), MAX_COLUMNS);
  assert.equal(scan(','.repeat(MAX_COLUMNS)), UNKNOWN);
});

test('halves of a surrogate pair in two cells do not move the cells behind them', () => {
  const scanner = new RowScanner();
  scanner.place(['a\ud83d', '\ude00b', 'c']);
  assert.deepEqual(scanner.texts(), ['a\ufffd', '\ufffdb', 'c']);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  MAX_COLUMNS,
  NOT_WHOLE,
  RowScanner,
} from '../../../../../packages/client/src/results/row-scanner.ts';

const ROW = '"a ""b"", c",d,"",\r,"\r\n",e""f\r\n';

test('a row without an end is not whole, wherever it is cut', () => {
  const bytes = Buffer.from(ROW);
  const scanner = new RowScanner();
  for (let length = 0; length < bytes.length; length++)
    assert.equal(scanner.scan(bytes.subarray(0, length), 0), NOT_WHOLE, `${length} bytes`);
});

test('a row has a limit of cells', () => {
  const scan = (text: string) => new RowScanner().scan(Buffer.from(text), 0);
  assert.equal(scan(','.repeat(MAX_COLUMNS - 1)), NOT_WHOLE);
  assert.equal(scan(`${','.repeat(MAX_COLUMNS - 1)}\n`), MAX_COLUMNS);
  assert.throws(() => scan(','.repeat(MAX_COLUMNS)), /more than 16384 columns/);
});

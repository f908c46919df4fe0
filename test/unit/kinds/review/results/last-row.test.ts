import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { RowScanner } from '../../../../../src/kinds/review/results/row-scanner.ts';
import { LastRows } from '../../../../../src/kinds/review/results/truncation-guard.ts';

const MIB = 1024 * 1024;

test('last rows are remembered with the beginning of their references only, which may be as long as a row', () => {
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc');
  const rows = new LastRows();
  const row = new RowScanner();
  row.scan(Buffer.from('a,b\n'), 0);
  const reference = (n: number) => Buffer.alloc(MIB, `${n} `).toString();
  gc();
  const before = process.memoryUsage().heapUsed;
  for (let n = 0; n < 50; n++) assert.equal(rows.isWhole(row, reference(n), false), false);
  gc();
  const growth = process.memoryUsage().heapUsed - before;
  assert.ok(growth < 5 * MIB, `${growth} bytes`);
  const again = Array.from({ length: 2 }, () => rows.isWhole(row, reference(7), false));
  assert.deepEqual(again, [false, true], 'and are known again');
  assert.equal(rows.isWhole(row, reference(8), false), false);
});

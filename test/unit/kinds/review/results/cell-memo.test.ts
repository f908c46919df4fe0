import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CellMemo } from '../../../../../src/kinds/review/results/cell-memo.ts';

function countingMemo(bytesOf?: (made: string) => number) {
  const made: string[] = [];
  const make = (text: string) => {
    made.push(text);
    return `made of ${text}`;
  };
  const memo = new CellMemo(make, bytesOf);
  return {
    made,
    of: (text: string) => memo.at(Buffer.from(text), 0, Buffer.byteLength(text), false),
  };
}

test('a value is made once for a cell that comes again', () => {
  const { made, of } = countingMemo();
  for (let time = 0; time < 3; time++) assert.equal(of('aé'), 'made of aé');
  assert.deepEqual(made, ['aé']);
});

test('new cells without end push out the old ones', () => {
  const { made, of } = countingMemo((text) => 100 * text.length);
  for (let n = 0; n < 1_000; n++) of(`${n}`);
  made.length = 0;
  assert.equal(of('0'), 'made of 0');
  assert.equal(of('999'), 'made of 999');
  assert.deepEqual(made, ['0']);
});

test('a cell that would take the room of many is not kept', () => {
  const { made, of } = countingMemo();
  const large = 'x'.repeat(10_000);
  for (let time = 0; time < 2; time++) assert.equal(of(large), `made of ${large}`);
  assert.equal(made.length, 2);
});

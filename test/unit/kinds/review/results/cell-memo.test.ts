import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CellMemo } from '../../../../../src/kinds/review/results/cell-memo.ts';

function countingMemo(bytesOf?: (made: string | undefined) => number) {
  const made: string[] = [];
  const make = (text: string) => {
    made.push(text);
    return text === 'none' ? undefined : `made of ${text}`;
  };
  return { made, memo: new CellMemo(make, bytesOf, 10_000) };
}

test('a value is made once for a text that comes again, also when it is undefined', () => {
  const { made, memo } = countingMemo();
  for (let time = 0; time < 3; time++) {
    assert.equal(memo.of('a'), 'made of a');
    assert.equal(memo.of('none'), undefined);
  }
  assert.deepEqual(made, ['a', 'none']);
});

test('new texts without end push out the old ones, and are never more than memory allows', () => {
  const { made, memo } = countingMemo();
  for (let n = 0; n < 1_000; n++) memo.of(`${n}`);
  const held = made.filter((text) => memo.has(text));
  assert.ok(held.length > 0 && held.length <= 50, `${held.length}`);
  assert.equal(memo.of('0'), 'made of 0');
});

test('a text or a value that would take the room of many is not kept', () => {
  const { memo } = countingMemo((made) => (made === 'made of large' ? 5_000 : 0));
  memo.of('small');
  assert.equal(memo.of('large'), 'made of large');
  assert.equal(memo.of('x'.repeat(1_000)), `made of ${'x'.repeat(1_000)}`);
  assert.deepEqual(
    [memo.has('small'), memo.has('large'), memo.has('x'.repeat(1_000))],
    [true, false, false],
  );
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isJsonText } from '../../../../src/base/exact-json.ts';
import { writeCount } from '../../../../src/kinds/review/number-bytes.ts';
import { CellMemo } from '../../../../src/kinds/review/results/cell-memo.ts';
import {
  InstantBytes,
  isPlainNumber,
  MAX_ESCAPE,
  putCell,
  putString,
} from '../../../../src/kinds/review/results/json-bytes.ts';
import { hostileText, numberLiteral } from './hostile.ts';

const texts = hostileText.map((text) => text.toWellFormed());

test('the JSON string of a cell is what JSON.stringify makes of its text, whether its quotes are doubled or not', () => {
  fc.assert(
    fc.property(texts, fc.boolean(), (text, isDoubled) => {
      const cell = Buffer.from(`--${isDoubled ? text.replaceAll('"', '""') : text}--`);
      const to = Buffer.alloc(cell.length * MAX_ESCAPE);
      const end = putString(to, cell, 2, cell.length - 2, isDoubled, 1);
      assert.equal(to.toString('utf8', 1, end), JSON.stringify(text));
      assert.equal(
        to.toString('utf8', 1, putCell(to, cell, 2, cell.length - 2, isDoubled, 1)),
        text,
      );
    }),
    { numRuns: 3000 },
  );
});

test('counts and instants are written as JavaScript writes them', () => {
  const instants = new InstantBytes();
  const to = Buffer.alloc(64);
  const instant = fc.oneof(
    fc.nat(),
    fc.integer({ min: 0, max: 8.64e15 }),
    fc.integer({ min: 0, max: 4102444800000 }),
  );
  fc.assert(
    fc.property(fc.oneof(fc.maxSafeNat(), fc.nat()), instant, (count, ms) => {
      assert.equal(to.toString('latin1', 3, writeCount(to, count, 3)), String(count));
      assert.equal(to.toString('latin1', 3, instants.put(to, ms, 3)), new Date(ms).toISOString());
    }),
    { numRuns: 3000 },
  );
});

test('what passes for a number without a look at its text is one', () => {
  fc.assert(
    fc.property(fc.oneof(numberLiteral, texts, fc.stringMatching(/^-?[0-9.]{0,6}$/)), (text) => {
      const bytes = Buffer.from(`1${text}1`);
      if (isPlainNumber(bytes, 1, bytes.length - 1)) assert.ok(isJsonText(text), text);
    }),
    { numRuns: 3000 },
  );
});

test('a memo of cells gives what would be made of each cell', () => {
  const memo = new CellMemo((text) => `made of ${text}`);
  const few = fc.nat(2000).map((n) => `${n}`.repeat(20));
  fc.assert(
    fc.property(
      fc.oneof(texts, few, fc.constantFrom('a""b', 'a"b')),
      fc.boolean(),
      (text, isDoubled) => {
        const cell = Buffer.from(isDoubled ? text.replaceAll('"', '""') : text);
        for (let time = 0; time < 3; time++)
          assert.equal(memo.at(cell, 0, cell.length, isDoubled), `made of ${text}`);
      },
    ),
    { numRuns: 5000 },
  );
});

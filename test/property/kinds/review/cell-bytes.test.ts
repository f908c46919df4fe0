import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isJsonText } from '../../../../src/base/json/exact-json.ts';
import { CellMemo } from '../../../../src/kinds/review/results/cell-memo.ts';
import { RowScanner } from '../../../../src/kinds/review/results/row-scanner.ts';
import {
  isPlainNumber,
  JsonWriter,
  stringSize,
} from '../../../../src/kinds/review/results/writers/json-writer.ts';
import { hostileText, numberLiteral } from './hostile.ts';

const texts = hostileText.map((text) => text.toWellFormed());

test('the JSON string of a cell is that of JSON.stringify, whether its quotes are doubled or not', () => {
  const out = new JsonWriter();
  const row = new RowScanner();
  fc.assert(
    fc.property(texts, fc.boolean(), (text, isQuoted) => {
      if (isQuoted) row.scan(Buffer.from(`x,"${text.replaceAll('"', '""')}"\n`), 0);
      else row.place(['x', text]);
      out.to = Buffer.alloc(stringSize(row.bytes, row.start(1), row.end(1)) + 1);
      out.at = 1;
      out.cellString(row, 1);
      assert.equal(out.to.toString('utf8', 1, out.at), JSON.stringify(text));
      out.at = 1;
      out.cell(row, 1);
      assert.equal(out.to.toString('utf8', 1, out.at), text);
    }),
    { numRuns: 3000 },
  );
});

test('counts and instants are written as JavaScript writes them', () => {
  const out = new JsonWriter();
  out.to = Buffer.alloc(64);
  const instant = fc.oneof(
    fc.nat(),
    fc.integer({ min: 0, max: 8.64e15 }),
    fc.integer({ min: 0, max: 4102444800000 }),
  );
  fc.assert(
    fc.property(fc.oneof(fc.maxSafeNat(), fc.nat()), instant, (count, ms) => {
      out.at = 3;
      out.count(count);
      assert.equal(out.to.toString('latin1', 3, out.at), String(count));
      out.at = 3;
      out.instant(ms);
      assert.equal(out.to.toString('latin1', 3, out.at), new Date(ms).toISOString());
    }),
    { numRuns: 3000 },
  );
});

test('bytes that pass as a plain number are JSON', () => {
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

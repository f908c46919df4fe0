import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { RowScanner } from '../../../../packages/client/src/results/row-scanner.ts';
import { ByteWriter } from '../../../../src/kinds/review/byte-writer.ts';
import { hostileText } from './hostile.ts';

const texts = hostileText.map((text) => text.toWellFormed());

test('counts and instants are formatted as in JavaScript', () => {
  const out = new ByteWriter();
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
    { numRuns: 1000 },
  );
});

/** Returns the rows that the scanner finds. */
function scanned(text: string): string[][] {
  const scanner = new RowScanner();
  const bytes = Buffer.from(text);
  const rows: string[][] = [];
  for (let at = 0; at < bytes.length; ) {
    at = scanner.scan(bytes, at);
    if (at < 0) return rows;
    if (scanner.cells > 0) rows.push(scanner.texts());
  }
  return rows;
}

function parsed(text: string): string[][] {
  return parse(text, {
    record_delimiter: ['\r\n', '\n'],
    relax_column_count: true,
    relax_quotes: true,
    skip_empty_lines: true,
  });
}

test('the scanner finds the same cells as csv-parse', () => {
  const cell = fc.oneof(texts, fc.constantFrom('', 'a', '"', 'a"b', '\r', 'x'.repeat(100)));
  const written = fc
    .tuple(cell, fc.boolean())
    .map(([text, isQuoted]) =>
      isQuoted || /[,\r\n]|^"/.test(text) ? `"${text.replaceAll('"', '""')}"` : text,
    );
  const row = fc
    .tuple(fc.array(written, { minLength: 1, maxLength: 6 }), fc.constantFrom('\n', '\r\n'))
    .map(([cells, end]) => cells.join(',') + end);
  fc.assert(
    fc.property(fc.array(row, { maxLength: 6 }), (rows) => {
      const text = rows.join('');
      assert.deepEqual(scanned(text), parsed(text));
    }),
    { numRuns: 1000 },
  );
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { stringify } from 'csv-stringify/sync';
import fc from 'fast-check';
import { checkCsv as csvCheck, MAX_ROW_BYTES } from '../../../src/cli/files/csv-check.ts';
import { Findings } from '../../../src/cli/files/findings.ts';
import { anyCharacter } from '../../support/any-character.ts';
import { checkCsv } from './checking.ts';

const lineEnd = fc.constantFrom('\n', '\r\n');
/** Quotes, commas, line ends of every kind, several bytes in a character; NUL is no text. */
const cell = fc.oneof(
  fc.string({
    unit: fc.constantFrom('a', '"', ',', '\n', '\r', '\r\n', ' ', 'é', '漢', '😀'),
    maxLength: 12,
  }),
  fc
    .string({ unit: anyCharacter, maxLength: 8 })
    .map((text) => text.replaceAll('\0', '').toWellFormed()),
);
const name = cell.filter((text) => text !== '' && text !== 'Content' && !text.startsWith('\ufeff'));
const table = fc
  .tuple(fc.uniqueArray(name, { maxLength: 3 }), fc.nat({ max: 3 }), fc.integer({ min: 1, max: 6 }))
  .chain(([names, at, rows]) => {
    const header = names.toSpliced(at, 0, 'Content');
    const row = fc.array(cell, { minLength: header.length, maxLength: header.length });
    return fc.record({
      header: fc.constant(header),
      rows: fc.array(row, { minLength: rows, maxLength: rows }),
    });
  });
const chunkBytes = fc.integer({ min: 1, max: 64 });

const csv = (rows: readonly (readonly string[])[], record_delimiter: string) =>
  // A cell alone in its row must be seen, so it has quotes also when it is empty.
  stringify(rows as string[][], {
    record_delimiter,
    quote_record_delimiter: true,
    quoted_empty: true,
  });

/** The number of the line in which what follows this text begins. */
const lineAfter = (text: string) => text.split('\n').length;

/** A way to break a row: what stands in its place, and what must be said of it. */
interface Damage {
  readonly name: string;
  readonly row: (cells: readonly string[], end: string) => string | Buffer;
  readonly message: RegExp;
}

const DAMAGES: readonly Damage[] = [
  {
    name: 'a cell too many',
    row: (cells, end) => csv([[...cells, 'x']], end),
    message: /^\d+ cells, where the header has \d+: a text with a comma/,
  },
  { name: 'a blank line', row: (cells, end) => end + csv([cells], end), message: /^blank/ },
  {
    name: 'a quote in a text without quotes',
    row: (cells, end) => `a"b${',x'.repeat(cells.length - 1)}${end}`,
    message: /^cell 1 .*holds a quote/,
  },
  {
    name: 'a text that goes on behind its closing quote',
    row: (cells, end) => `"a${end}"b${',x'.repeat(cells.length - 1)}${end}`,
    message: /^cell 1 .*must be written twice/,
  },
  {
    name: 'a byte that is not UTF-8',
    row: (cells, end) =>
      Buffer.concat([
        Buffer.from([0x63, 0x61, 0x66, 0xe9]),
        Buffer.from(`${',x'.repeat(cells.length - 1)}${end}`),
      ]),
    message: /^not UTF-8/,
  },
  {
    name: 'a NUL byte',
    row: (cells, end) => `a\0b${',x'.repeat(cells.length - 1)}${end}`,
    message: /^a NUL byte/,
  },
  {
    name: 'another line end',
    row: (cells, end) => `x${',x'.repeat(cells.length - 1)}${end === '\n' ? '\r\n' : '\n'}`,
    message: /^a line end of (CR)?LF, where the header has (CR)?LF/,
  },
];

describe('a CSV file', () => {
  it('from csv-stringify is valid, in pieces of any size', async () => {
    await fc.assert(
      fc.asyncProperty(
        table,
        lineEnd,
        fc.boolean(),
        chunkBytes,
        async ({ header, rows }, end, lastEnd, size) => {
          const text = csv([header, ...rows], end);
          const { findings, checked } = await checkCsv(
            lastEnd ? text : text.slice(0, -end.length),
            size,
          );
          assert.deepEqual(findings, []);
          assert.equal(checked.records, rows.length);
        },
      ),
    );
  });

  for (const damage of DAMAGES) {
    it(`with ${damage.name} has its first finding in the line where that row begins`, async () => {
      await fc.assert(
        fc.asyncProperty(
          table,
          fc.nat(),
          lineEnd,
          chunkBytes,
          async ({ header, rows }, n, end, size) => {
            const at = n % rows.length;
            const above = csv([header, ...rows.slice(0, at)], end);
            const below = csv(rows.slice(at), end);
            const file = Buffer.concat([
              Buffer.from(above),
              Buffer.from(damage.row(rows[at] ?? [], end) as string),
              Buffer.from(below),
            ]);
            const { findings } = await checkCsv(file, size);
            assert.equal(findings[0]?.line, lineAfter(above));
            assert.match(findings[0]?.message ?? '', damage.message);
          },
        ),
        { numRuns: 25 },
      );
    });
  }

  it('with an unclosed quote has one finding, in the line where the quote opens', async () => {
    await fc.assert(
      fc.asyncProperty(table, lineEnd, chunkBytes, async ({ header, rows }, end, size) => {
        const above = csv([header, ...rows], end);
        const { findings } = await checkCsv(
          `${above}x,"never closed${end}a,b${end}c,d${end}`,
          size,
        );
        assert.deepEqual(
          findings.map(({ line, message }) => [line, /cell 2.*never closed/.test(message)]),
          [[lineAfter(above), true]],
        );
      }),
      { numRuns: 25 },
    );
  });

  it('has all of its problems counted, and the first ten listed by line', async () => {
    const rows = Array.from({ length: 2_000 }, (_, n) => (n % 2 === 0 ? 'a,b' : 'a,b,c'));
    const { findings, total } = await checkCsv(`Content,x\n${rows.join('\n')}\n`);
    assert.equal(total, 1_000);
    assert.deepEqual(
      findings.map(({ line }) => line),
      [3, 5, 7, 9, 11, 13, 15, 17, 19, 21],
    );
  });

  it('must have a header with a column called exactly Content, and rows below it', async () => {
    const cases: readonly (readonly [string, RegExp])[] = [
      ['id,text\n1,a\n', /the first line must be a header with a column called Content/],
      ['id, content \n1,a\n', /has a column " content "; it must be called exactly Content/],
      ['id;Content\n1;a\n', /separated by semicolons/],
      ['id\tContent\n1\ta\n', /separated by tabs/],
      ['Content\ra\rb\r', /must be a header with a column called Content/],
      ['Content,author\ra,u-7\rb,u-8\r', /no rows below the header/],
      ['Content,a,b,a\n1,2,3,4\n', /columns 2 and 4 have the same name, "a"/],
      ['Content,Content\n1,2\n', /columns 1 and 2 have the same name/],
      ['Content,author\n', /no rows below the header/],
      ['Content', /no rows below the header/],
    ];
    for (const [text, message] of cases) {
      const { findings } = await checkCsv(text);
      assert.deepEqual([findings.length, findings[0]?.line], [1, 1], text);
      assert.match(findings[0]?.message ?? '', message);
    }
  });

  it('has notes for what is allowed and probably unintended', async () => {
    const { checked, total } = await checkCsv(
      'Content,Status,Spam result,Expected result,\n,a,b,c,d\nx,a,b,c,d\n" ",a,b,c,d\n',
    );
    assert.equal(total, 0);
    assert.deepEqual(checked.notes, [
      'the column "Status" is named like one of the result file, which will have both: see --json and --result-column',
      'the column "Spam result" is named like one of the result file, which will have both: see --json and --result-column',
      'column 5 has no name',
      '2 rows without content, the first at line 2: the service may not be able to review them',
    ]);
  });

  it('with an endless row is refused in bounded memory, with the line where the row begins', async () => {
    const head = Buffer.from('Content\nfine\n"');
    const { findings } = await checkCsv(
      Buffer.concat([head, Buffer.alloc(MAX_ROW_BYTES + 10, 'x')]),
    );
    assert.deepEqual([findings.length, findings[0]?.line], [1, 3]);
    assert.match(
      findings[0]?.message ?? '',
      /cell 1 \(Content\): in a row larger than 16 MiB: a quote that is not closed/,
    );
  });

  it('with a row of commas is refused before it fills the memory', async () => {
    let read = 0;
    const piece = Buffer.alloc(64 * 1024, ',');
    const chunks = async function* () {
      yield Buffer.from('Content\nfine\n');
      for (; read < 90 * 1024 * 1024; read += piece.length) yield piece;
    };
    const findings = new Findings();
    await csvCheck(chunks(), findings);
    assert.match(findings.first.at(-1)?.message ?? '', /more than 16,384 columns/);
    assert.ok(read <= MAX_ROW_BYTES + 2 * piece.length, `${read} bytes were read`);
  });

  it('with a row of quotes is refused by its bytes, not by the text that they stand for', async () => {
    const quotes = Buffer.alloc(1.5 * MAX_ROW_BYTES, '"');
    const { findings } = await checkCsv(Buffer.concat([Buffer.from('Content\n'), quotes]));
    assert.deepEqual([findings.length, findings[0]?.line], [1, 2]);
    assert.match(findings[0]?.message ?? '', /in a row larger than 16 MiB/);
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { foreignFormat } from '../../../src/base/foreign-format.ts';
import { Findings } from '../../../src/cli/files/findings.ts';
import { checkText, markBytes, textProblem, wholeLines } from '../../../src/cli/files/text-file.ts';
import { piecesOf } from './checking.ts';

/** Bytes that meet: pieces of characters, line ends, NUL. */
const bytes = fc
  .array(
    fc.constantFrom(
      [0x61],
      [0x0a],
      [0x0d, 0x0a],
      [0xc3, 0xa9],
      [0xf0, 0x9f, 0x98, 0x80],
      [0xc3],
      [0xf0, 0x9f],
      [0x80],
      [0xff],
      [0xed, 0xa0, 0x80],
      [0x00],
    ),
    { maxLength: 30 },
  )
  .map((pieces) => Buffer.from(pieces.flat()));

/** Errors of a decoder that receives each line as a whole. */
function wrongLines(file: Buffer): string[] {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  return file
    .toString('latin1')
    .split('\n')
    .flatMap((line, index) => {
      try {
        decoder.decode(Buffer.from(line, 'latin1'));
      } catch {
        return [`${index + 1} not`];
      }
      return line.includes('\0') ? [`${index + 1} a N`] : [];
    });
}

describe('the encoding of a file', () => {
  it('has findings in exactly the lines that a decoder refuses, in pieces of any size', async () => {
    await fc.assert(
      fc.asyncProperty(bytes, fc.integer({ min: 1, max: 9 }), async (file, size) => {
        const findings = new Findings();
        let next = 1;
        for await (const piece of wholeLines(piecesOf(file, size), 1_000))
          next = checkText(piece, next, findings);
        const found = findings.first.map(({ line, message }) => `${line} ${message.slice(0, 3)}`);
        const expected = wrongLines(file);
        assert.equal(findings.total, expected.length);
        assert.deepEqual(found.sort(), expected.slice(0, 10).sort());
      }),
      { numRuns: 500 },
    );
  });

  it('is recognised by the first bytes of UTF-16, UTF-32, archives and workbooks', () => {
    const utf16 = Buffer.from('\ufeffContent,author\n', 'utf16le');
    const cases: readonly (readonly [Buffer, RegExp])[] = [
      [
        utf16,
        /^is UTF-16 text, not UTF-8: save it as UTF-8, or convert it \(iconv -f UTF-16 -t UTF-8/,
      ],
      [Buffer.from(utf16).swap16(), /^is UTF-16 text/],
      [
        Buffer.from([0xff, 0xfe, 0, 0, 0x43, 0, 0, 0]),
        /^is UTF-32 text, not UTF-8.*iconv -f UTF-32 -t/,
      ],
      [Buffer.from([0x1f, 0x8b, 8]), /gzip/],
      [Buffer.from('PK\x03\x04etc'), /workbook/],
    ];
    for (const [head, message] of cases) {
      const { what = '', remedy = '' } = foreignFormat(head) ?? {};
      assert.match(`${what}: ${remedy}.`, message);
    }
    for (const unmarked of [utf16.subarray(2), Buffer.from(utf16).swap16().subarray(2)])
      assert.match(textProblem(unmarked) ?? '', /UTF-16, perhaps/);
    for (const text of ['Content\n', '', 'C', '\ufeffContent', 'a\0b\n', 'Ωμέγα,漢字'])
      assert.equal(foreignFormat(Buffer.from(text)), undefined, text);
    assert.deepEqual(
      [markBytes(Buffer.from('\ufeffContent')), markBytes(Buffer.from('Content'))],
      [3, 0],
    );
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { foreignFormat } from '../../../src/base/foreign-format.ts';

describe('the encoding of a file', () => {
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
    for (const text of ['Content\n', '', 'C', '\ufeffContent', 'a\0b\n', 'Ωμέγα,漢字'])
      assert.equal(foreignFormat(Buffer.from(text)), undefined, text);
  });
});

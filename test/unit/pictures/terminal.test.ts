/** Output of a terminal, and PNGs with a palette, as the pictures of the documentation need them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { crc32, deflateSync, inflateSync } from 'node:zlib';
import fc from 'fast-check';
import { chunksOf, withPalette } from '../../../dev/pictures/png.ts';
import { TerminalScreen } from '../../../dev/pictures/terminal.ts';

const ESC = '\u001b';

function screenOf(...outputs: readonly string[]) {
  const screen = new TerminalScreen();
  for (const output of outputs) screen.write(output);
  return screen
    .tail(100)
    .map((line) => line.map(({ text, style }) => `${style}:${text}`).join('|'));
}

test('a block that is redrawn in place replaces the lines above it', () => {
  assert.deepEqual(screenOf(`stays\r\none\r\ntwo\r\n\r${ESC}[2A${ESC}[0JONE\r\n`), [
    ':stays',
    ':ONE',
  ]);
});

test('styles begin and end where the output sets them', () => {
  assert.deepEqual(screenOf(`a${ESC}[1m${ESC}[32mgood${ESC}[39mbold${ESC}[22m.`), [
    ':a|1;32:good|1:bold|:.',
  ]);
});

test('an unknown escape sequence is refused instead of drawn wrongly', () => {
  assert.throws(() => screenOf(`${ESC}[2K`), /does not know the escape sequence/);
});

test('a screen is the same wherever its output is cut', () => {
  const token = fc.constantFrom('word ', '━', '\r\n', `${ESC}[1A`, `${ESC}[0J`, `${ESC}[31m`);
  fc.assert(
    fc.property(fc.array(token), fc.nat(), (tokens, at) => {
      const output = tokens.join('');
      const cut = output.length === 0 ? 0 : at % output.length;
      assert.deepEqual(screenOf(output.slice(0, cut), output.slice(cut)), screenOf(output));
    }),
  );
});

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}

/** PNG of RGB pixels; each row with the filter "up", which browsers use as well. */
function rgbPng(width: number, rows: readonly (readonly number[])[]): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(rows.length, 4);
  header.set([8, 2, 0, 0, 0], 8);
  const bytes = (row: readonly number[]) => row.flatMap((c) => [c >> 16, (c >> 8) & 255, c & 255]);
  const filtered = rows.flatMap((row, y) => {
    const above = y === 0 ? [] : bytes(rows[y - 1] ?? []);
    return [2, ...bytes(row).map((byte, at) => (byte - (above[at] ?? 0)) & 255)];
  });
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(Buffer.from(filtered))),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

test('a picture with up to 256 colours has each pixel unchanged after it got a palette', () => {
  const image = fc
    .tuple(fc.integer({ min: 1, max: 8 }), fc.integer({ min: 1, max: 8 }))
    .chain(([width, height]) =>
      fc.array(
        fc.array(fc.integer({ min: 0, max: 0xffffff }), { minLength: width, maxLength: width }),
        { minLength: height, maxLength: height },
      ),
    );
  fc.assert(
    fc.property(image, (rows) => {
      const width = rows[0]?.length ?? 0;
      const chunks = chunksOf(withPalette(rgbPng(width, rows)));
      const data = (type: string) =>
        chunks.find((one) => one.type === type)?.data ?? Buffer.alloc(0);
      const raw = inflateSync(data('IDAT'));
      const palette = data('PLTE');
      const pixels = rows.map((row, y) =>
        row.map((_, x) => palette.readUIntBE((raw[y * (width + 1) + 1 + x] ?? 0) * 3, 3)),
      );
      assert.deepEqual(pixels, rows);
    }),
  );
});

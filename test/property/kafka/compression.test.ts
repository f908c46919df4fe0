import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { unpack } from '../../../src/kafka/records/unpack.ts';
import { compressLz4 } from '../../support/kafka/lz4.ts';
import { compressSnappy } from '../../support/kafka/snappy.ts';

const MAX = 10_000_000;

/** Bytes with runs and repeats, as texts have, and without, as pictures have. */
const bytes: fc.Arbitrary<Buffer> = fc
  .array(
    fc.oneof(
      fc.uint8Array({ maxLength: 300 }).map((part) => Buffer.from(part)),
      fc
        .tuple(fc.uint8Array({ minLength: 1, maxLength: 20 }), fc.integer({ min: 1, max: 5_000 }))
        .map(([part, times]) =>
          Buffer.concat(Array.from({ length: times }, () => Buffer.from(part))),
        ),
    ),
    { maxLength: 6 },
  )
  .map((parts) => Buffer.concat(parts));

/** As far as MAX; stretches of 4 KiB, so that matches reach into earlier ones. */
function decompress(code: number, packed: Buffer): Buffer {
  const stretches = unpack(code, packed, 4_096);
  const parts: Buffer[] = [];
  for (let total = 0; total < MAX; total += parts.at(-1)?.length ?? 0) {
    const stretch = stretches.next();
    assert.ok(!(stretch instanceof Promise));
    if (stretch === undefined) break;
    parts.push(stretch);
  }
  return Buffer.concat(parts);
}

const SNAPPY = 2;
const LZ4 = 3;
const codecs = [
  { name: 'LZ4', compress: compressLz4, code: LZ4 },
  { name: 'Snappy', compress: compressSnappy, code: SNAPPY },
];

for (const { name, compress, code } of codecs) {
  describe(name, () => {
    it('gives back what was compressed', () => {
      fc.assert(
        fc.property(bytes, (given) => {
          assert.ok(decompress(code, compress(given)).equals(given));
        }),
        { numRuns: 150 },
      );
    });

    it('throws or returns for any damage, and never hangs', () => {
      fc.assert(
        fc.property(
          bytes,
          fc.nat(),
          fc.integer({ min: 0, max: 255 }),
          fc.nat(),
          (given, at, value, cut) => {
            const packed = Buffer.from(compress(given));
            packed[at % packed.length] = value;
            const damaged = packed.subarray(0, cut % (packed.length + 1));
            try {
              assert.ok(decompress(code, damaged).length < MAX + 10_000);
            } catch (error) {
              assert.ok(error instanceof Error);
            }
          },
        ),
        { numRuns: 300 },
      );
    });
  });
}

describe('Snappy of other clients', () => {
  it('may be one bare block without the frame that Java writes', () => {
    const framed = compressSnappy(Buffer.from('hello hello hello hello'));
    const bare = framed.subarray(20);
    assert.equal(decompress(SNAPPY, bare).toString(), 'hello hello hello hello');
  });
});

describe('LZ4 of other clients', () => {
  it('may have blocks that reach back into earlier ones, a content size and checksums', () => {
    // Written by lz4 1.9.4: lz4 -BD -B4 -BX --content-size
    const frame = Buffer.from(REFERENCE_FRAME, 'base64');
    assert.equal(decompress(LZ4, frame).toString(), 'abcdefg'.repeat(10_000));
  });
});

const REFERENCE_FRAME = [
  'BCJNGFxAcBEBAAAAAADjEQEAAH9hYmNkZWZnBwD/////////////////////////////////////////////////////////////////////////////',
  '////////////////////////////////////////////////////////////////////////////////////////////////////////////////////',
  '////////////////////////////////////////////////////////////////////////////////////////////////////////////////////',
  '////////////////////////////////4VBlZmdhYsk0EkAbAAAAD/7///////////////////////9pUGNkZWZn4wyjXAAAAAB4W6b8',
].join('');

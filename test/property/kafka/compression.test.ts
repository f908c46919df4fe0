/**
 * LZ4 frames of another implementation. record-reader.test.ts reads the frames that the tests' own implementation
 * writes.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { unpack } from '../../../src/kafka/records/unpack.ts';

const LZ4 = 3;
/** Size of a stretch. Matches refer to earlier stretches. */
const STRETCH_BYTES = 4_096;

test('LZ4 frames with linked blocks, a content size and checksums are read', () => {
  // lz4 1.9.4 wrote the frame: lz4 -BD -B4 -BX --content-size
  const stretches = unpack(LZ4, Buffer.from(REFERENCE_FRAME, 'base64'), STRETCH_BYTES);
  let text = '';
  for (;;) {
    const stretch = stretches.next();
    assert.ok(!(stretch instanceof Promise));
    if (stretch === undefined) break;
    text += stretch;
  }
  assert.equal(text, 'abcdefg'.repeat(10_000));
});

const REFERENCE_FRAME = [
  'BCJNGFxAcBEBAAAAAADjEQEAAH9hYmNkZWZnBwD/////////////////////////////////////////////////////////////////////////////',
  '////////////////////////////////////////////////////////////////////////////////////////////////////////////////////',
  '////////////////////////////////////////////////////////////////////////////////////////////////////////////////////',
  '////////////////////////////////4VBlZmdhYsk0EkAbAAAAD/7///////////////////////9pUGNkZWZn4wyjXAAAAAB4W6b8',
].join('');

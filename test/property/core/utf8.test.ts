import assert from 'node:assert/strict';
import { isUtf8 } from 'node:buffer';
import { test } from 'node:test';
import fc from 'fast-check';
import { textOf } from '../../../src/core/bytes/record-view.ts';
import { anyCharacter } from '../../support/any-character.ts';

/** Texts with every length of character, and pieces that are cut, overlong, too large, or no UTF-8 at all. */
const part = fc.oneof(
  fc.string({ unit: anyCharacter }).map((text) => Buffer.from(text)),
  fc.constantFrom('a', 'é', '\ufffd', '😀').map((text) => Buffer.from(text)),
  fc
    .constantFrom('c3', 'e282', 'f09f98', 'c080', 'eda080', 'f4908080', 'ff', 'efbf')
    .map((hex) => Buffer.from(hex, 'hex')),
  fc.uint8Array({ maxLength: 6 }).map((bytes) => Buffer.from(bytes)),
);

test('bytes are text if and only if they are UTF-8, also in the middle of others', () => {
  fc.assert(
    fc.property(fc.array(part, { maxLength: 4 }), part, part, (parts, before, behind) => {
      const bytes = Buffer.concat(parts);
      const within = Buffer.concat([before, bytes, behind]);
      const text = textOf(within, before.length, before.length + bytes.length);
      assert.equal(text, isUtf8(bytes) ? bytes.toString('utf8') : undefined);
      assert.equal(textOf(bytes), text);
    }),
    { numRuns: 2_000 },
  );
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { anyCharacter } from '../../../../../test/support/any-character.ts';
import { JsonWriter, TextTooLong } from '../../../src/base/json/json-writer.ts';

const text = fc.oneof(
  fc.string({ unit: anyCharacter, maxLength: 100 }),
  fc.string({
    unit: fc.constantFrom('"', '\\', '\u0000', '\u001f', '\n', '\u007f', '\u2028', 'x'),
  }),
);

test('strings are written as JSON.stringify writes them, from strings and from bytes', () => {
  const writer = new JsonWriter();
  fc.assert(
    fc.property(text, (one) => {
      const wellFormed = one.toWellFormed();
      const bytes = Buffer.from(`x${wellFormed}x`);
      writer.begin(10_000);
      writer.mark(0x5b);
      writer.string(one);
      writer.ascii(',');
      assert.ok(writer.utf8(bytes, 1, bytes.length - 1));
      writer.ascii(',');
      writer.base64(bytes, 1, bytes.length - 1);
      writer.json(Buffer.from(']'));
      const encoded = bytes.subarray(1, -1).toString('base64');
      const wanted = `[${JSON.stringify(one)},${JSON.stringify(wellFormed)},"${encoded}"]`;
      assert.equal(writer.finish().toString(), wanted);
    }),
    { numRuns: 2_000 },
  );
});

test('a document may grow up to its limit, but not beyond', () => {
  const writer = new JsonWriter();
  const part = Buffer.alloc(1_000, 'x');
  fc.assert(
    fc.property(fc.nat(300_000), (limit) => {
      writer.begin(limit);
      let written = 0;
      const write = [
        () => writer.json(part),
        () => writer.ascii('1234567890'),
        () => writer.mark(0x2c),
      ];
      const sizes = [1_000, 10, 1];
      for (let n = 0; ; n++) {
        const size = sizes[n % 3] as number;
        if (written + size > limit) {
          assert.throws(write[n % 3] as () => void, TextTooLong);
          break;
        }
        (write[n % 3] as () => void)();
        written += size;
      }
      assert.equal(writer.finish().length, written);
    }),
    { numRuns: 30 },
  );
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { protobufReader } from '../../../support/records/protobuf.ts';
import { jsonOf } from '../../../support/records/read-event.ts';

/** Characters that mean something in a .proto file, wherever they mean nothing. */
const anything = fc.string({
  unit: fc.constantFrom(...'{}[]()<>;:=,"\'/*\\ \n', 'option ', 'message M {', 'a'),
  maxLength: 12,
});
const comment = fc.oneof(
  anything.map((text) => ` //${text.replaceAll('\n', ' ')}\n`),
  anything.map((text) => ` /* ${text.replace(/\*+\//g, '/')} */`),
);
const literal = fc.tuple(anything, fc.constantFrom('"', "'")).map(([text, quote]) => {
  const escaped = text.replaceAll('\n', ' ').replace(/[\\"']/g, '\\$&');
  return `${quote}${escaped}${quote}`;
});

const { value } = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom('1', '-1.5e3', 'true', 'NAME', '-inf'),
    literal,
    fc.array(literal, { minLength: 2, maxLength: 3 }).map((parts) => parts.join(' ')),
    fc.array(tie('value'), { maxLength: 3 }).map((parts) => `{list: [${parts.join(', ')}]}`),
    fc
      .array(
        fc.tuple(
          fc.constantFrom('a: ', 'b :', '[type.example.com/p.M]: '),
          tie('value'),
          fc.constantFrom(',', ';', '\n'),
        ),
      )
      .map((parts) => `{${parts.flat().join('')}}`),
  ),
}));
const option = fc
  .tuple(fc.constantFrom('(x)', '(.p.x).y.z', 'deprecated', 'java_package', '( p.x )'), value)
  .map(([name, text]) => `${name} = ${text}`);
const statements = fc
  .array(
    fc.oneof(
      option.map((text) => `option ${text};`),
      fc.constantFrom(' ', '\n'),
      comment,
    ),
    { maxLength: 3 },
  )
  .map((parts) => parts.join(''));
/** Between two statements: empty ones come first. */
const among = fc.tuple(fc.constantFrom('', ';', ' ; ;'), statements).map((parts) => parts.join(''));
const inline = fc
  .array(option, { maxLength: 3 })
  .map((parts) => (parts.length === 0 ? '' : `[${parts.join(',')}]`));
const between = fc.oneof(comment, fc.constant(' '));

/** A file with places: `@` for statements, `$` for options of a field, `_` between two words. */
const FILE = `syntax = "proto3";@package p;@
message_M_{@string_a_=_1_$;@repeated_int64_b_=_2$_;@map_<_string_,_Kind_>_c=3$;@oneof_o_{@M_d=4$;@string e=5;@}@message N{@}@}@
enum_Kind_{@ZERO_=_0$;@ONE=1_$;@}@
service S {@ rpc Get (M) returns (M) {@}@}@`;
const PLAIN = FILE.replace(/[@$]/g, '').replaceAll('_', ' ');
const PAYLOAD = Buffer.from([
  10, 1, 0x61, 18, 2, 1, 2, 26, 5, 10, 1, 0x6b, 16, 1, 34, 3, 10, 1, 0x62,
]);

test('a .proto file reads the same whatever its options, comments and texts hold, with empty statements in between', () => {
  const expected = jsonOf(protobufReader(PLAIN)(PAYLOAD));
  assert.equal(expected, '{"a":"a","b":[1,2],"c":{"k":"ONE"},"d":{"a":"b","b":[],"c":{}}}');
  const places = FILE.match(/[@$_]/g) ?? [];
  const noise = fc.tuple(
    ...places.map((place) => (place === '@' ? among : place === '$' ? inline : between)),
  );
  fc.assert(
    fc.property(noise, (parts) => {
      let next = 0;
      const text = FILE.replace(/[@$_]/g, () => parts[next++] ?? '');
      assert.equal(jsonOf(protobufReader(text)(PAYLOAD)), expected);
    }),
    { numRuns: 300 },
  );
});

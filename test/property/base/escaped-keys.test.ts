import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { hasEscapedKeys, parseEscapedKeys } from '../../../src/base/json/escaped-keys.ts';
import { parseObject } from '../../../src/events/json-event.ts';
import { anyCharacter } from '../../support/any-character.ts';
import { growthOf, LINEAR } from '../../support/cpu-growth.ts';

/** The second key of an event's metadata. */
const keyOf = (event: object | undefined) =>
  Object.keys((event as { readonly metadata: object }).metadata)[1];

test('a key with escapes is read as it is, also behind an object whose key has a backslash in its place', () => {
  for (const [before, text, key] of [
    [String.raw`{"q":1,"\\":2}`, String.raw`{"q":1,"\"":2}`, '"'],
    [String.raw`{"r":1,"\\u00":2}`, String.raw`{"r":1,"\u00e9tat":2}`, 'état'],
    [String.raw`{"s":1,"\\n":2}`, String.raw`{"s":1,"\nx" : 12345678901234567890}`, '\nx'],
  ] as const) {
    parseObject(Buffer.from(`{"metadata":${before}}`));
    const { event } = parseObject(Buffer.from(`{"metadata":${text}}`));
    assert.equal(keyOf(event?.document), key);
    assert.equal(keyOf(event?.exact()), key);
  }
});

test('any value comes back from its JSON, and a key with an escape is always noticed', () => {
  const key = fc.oneof(
    fc.constantFrom('__proto__', '', 'a', '0', '\\', '"', '":', 'é\n', '\ud800'),
    fc.string({ unit: anyCharacter }),
  );
  const json = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.oneof(fc.string({ unit: anyCharacter }), fc.constantFrom('{', '[1,[', '":', '\\"')),
      fc.oneof(fc.integer(), fc.boolean(), fc.constant(null)),
      fc.array(tie('value'), { maxLength: 3 }),
      fc
        .array(fc.tuple(key, tie('value')), { maxLength: 4 })
        .map((members) => Object.fromEntries(members)),
    ),
  })).value;
  const hasEscape = (value: unknown): boolean =>
    typeof value === 'object' &&
    value !== null &&
    ((!Array.isArray(value) &&
      Object.keys(value).some((name) => JSON.stringify(name).includes('\\'))) ||
      Object.values(value).some(hasEscape));
  fc.assert(
    fc.property(json, fc.constantFrom(0, 1), (value, indent) => {
      const text = JSON.stringify(value, null, indent);
      assert.equal(JSON.stringify(parseEscapedKeys(text, JSON.parse), null, indent), text);
      assert.equal(hasEscapedKeys(text), hasEscape(value));
    }),
    { numRuns: 2_000 },
  );
});

test('a text is looked through in linear time, whatever its strings are full of', async () => {
  for (const part of ['\\n', '\\"', '\\\\', 'a\\n"', '":', '\\n"\n'])
    assert.ok(
      (await growthOf(10_000, (size) => () => hasEscapedKeys(`{"a":"${part.repeat(size)}"}`))) <
        LINEAR,
      part,
    );
});

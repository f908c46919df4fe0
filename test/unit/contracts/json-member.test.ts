import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { memberSpan } from '../../../src/contracts/json-form.ts';
import { anyCharacter } from '../../support/any-character.ts';

const textOf = (json: string, name: string) => {
  const at = memberSpan(json, name);
  return at && json.slice(at.start, at.end);
};

test('a member is found only on the top level, with any content and among any other members', () => {
  for (const [json, wanted] of [
    ['{"a":"metadata","b":{"metadata":1},"metadata":{"x":[1,"}"]},"c":2}', '{"x":[1,"}"]}'],
    ['{"metadata":1}', '1'],
    ['{"metadata" : [ {}, "\\"," ] }', ' [ {}, "\\"," ] '],
    ['{"a\\\\":"metadata","metadata":1.50}', '1.50'],
    ['{"metadata2":1,"a":["metadata",2]}', undefined],
    ['{}', undefined],
  ] as const) {
    assert.equal(textOf(json, 'metadata'), wanted, json);
  }
});

test('the member equals the one that JSON.parse finds, for any object', () => {
  const member = fc.tuple(
    fc.oneof(fc.constant('metadata'), fc.string({ unit: anyCharacter })),
    fc.jsonValue(),
  );
  fc.assert(
    fc.property(fc.uniqueArray(member, { selector: ([name]) => name }), (members) => {
      const json = JSON.stringify(Object.fromEntries(members));
      const found = textOf(json, 'metadata');
      const wanted = (JSON.parse(json) as { metadata?: unknown }).metadata;
      assert.deepEqual(found === undefined ? undefined : JSON.parse(found), wanted);
    }),
  );
});

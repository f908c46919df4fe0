import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { hasUniqueItems } from '../../../../src/events/formats/json-schema/keywords.ts';

test('items are unique when no two of them are deep-equal', () => {
  const item = fc
    .jsonValue({ maxDepth: 2 })
    .map((value) => JSON.parse(JSON.stringify(value)) as unknown);
  fc.assert(
    fc.property(fc.array(item, { maxLength: 8 }), fc.boolean(), (items, again) => {
      const all = again && items.length > 0 ? [...items, structuredClone(items[0])] : items;
      const same = all.some((one, n) =>
        all.slice(0, n).some((other) => isDeepStrictEqual(one, other)),
      );
      assert.equal(hasUniqueItems(all), !same);
    }),
  );
});

test('members are compared in any order, and texts are not what they look like', () => {
  assert.equal(
    hasUniqueItems([
      { a: 1, b: [2] },
      { b: [2], a: 1 },
    ]),
    false,
  );
  assert.equal(
    hasUniqueItems([1, '1', true, 'true', null, 'null', [1], ['1'], '[1]', {}, [], '{}']),
    true,
  );
  assert.equal(hasUniqueItems([{ a: 'x","b":"y' }, { a: 'x', b: 'y' }]), true);
});

test('a number beyond a double is neither null nor its opposite, and 0 is -0', () => {
  assert.equal(hasUniqueItems(JSON.parse('[1e400, null, -1e400]')), true);
  assert.equal(hasUniqueItems(JSON.parse('[0, -0.0]')), false);
});

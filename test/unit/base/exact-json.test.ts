import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  isJsonText,
  mayLoseDigits,
  parseKeepingDigits,
} from '../../../src/base/json/exact-json.ts';

test('numbers that a double would change are noticed wherever they stand, and keep their digits', () => {
  for (const literal of [
    '12345678901234567890',
    '-9007199254740993',
    '1e400',
    '1E-400',
    '0.1000000000000000055',
    '-0',
    '-0.0',
    '-0e5',
    '123456789012345678e5',
  ]) {
    for (const text of [
      `{"a":${literal}}`,
      `{"a": [1,${literal} ]}`,
      `[${literal}]`,
      `{"a":\n${literal}\n}`,
    ]) {
      assert.equal(mayLoseDigits(text), true, text);
      assert.ok(JSON.stringify(parseKeepingDigits(text)).includes(literal), text);
    }
  }
});

test('ordinary numbers do not take the slow path', () => {
  for (const literal of [
    '0',
    '-1',
    '1732180000000',
    '0.30000000000000004',
    '9007199254740991',
    '-0.5',
    '1e10',
    '1.5',
  ]) {
    assert.equal(mayLoseDigits(`{"a":${literal}}`), false, literal);
  }
  assert.equal(mayLoseDigits('{"id":"3e123456-12345678901234567890"}'), false);
});

test('a text is JSON or not', () => {
  for (const text of [
    '1',
    '-0.5e+7',
    'true',
    'null',
    '"x"',
    ' [1] ',
    '{"a":{}}',
    '12345678901234567890',
  ]) {
    assert.equal(isJsonText(text), true, text);
  }
  for (const text of ['', '01', '.5', '1.', 'NaN', 'True', "['a']", '{', '1 2', '+1'])
    assert.equal(isJsonText(text), false, text);
});

test('a text that is nested more deeply than metadata can be is none of ours', () => {
  const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);
  assert.equal(isJsonText(nested(64)), true);
  for (const levels of [65, 100_000]) assert.equal(isJsonText(nested(levels)), false);
});

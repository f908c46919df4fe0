import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RecordHeaders } from '../../../../src/core/record.ts';
import { readReference } from '../../../../src/kinds/review/reference.ts';
import { headerList, headersAsBytes } from '../../../support/records/headers.ts';
import { writeReference } from '../../../support/review/plain-reference.ts';
import { contentItem } from './sample.ts';

/** Reads a valid reference. */
function valid(text: string) {
  const read = readReference(text);
  assert.ok(read.ok, text);
  return read.value;
}

const NOTHING = { shape: undefined, expected: undefined, metadata: undefined };

test('a reference brings key and headers back byte by byte', () => {
  const headers: RecordHeaders = [
    ['several', Buffer.from('a')],
    ['text', Buffer.from('plain')],
    ['several', null],
    ['bytes', Buffer.from([0, 255, 10])],
    ['several', Buffer.from([200])],
    ['__proto__', Buffer.alloc(0)],
    ['nothing', null],
  ];
  for (const key of [
    null,
    Buffer.alloc(0),
    Buffer.from('k"\\,\0🙂\ufeff'),
    Buffer.from([255, 254]),
  ]) {
    const reference = valid(writeReference(contentItem({ key, headers, replay: 3 }), NOTHING));
    assert.deepEqual(reference.key === null ? null : Buffer.from(reference.key), key);
    assert.equal(reference.replay, 3);
    assert.deepEqual(headersAsBytes(reference.headers ?? []), headers);
  }
});

test('a reference of the version before, which kept the values of a name together, is read', () => {
  const reference = valid('[3,41,0,null,0,{"h":[["a","1"],["a",["/w=="]],["none",null]]}]');
  assert.deepEqual(reference.headers, headerList({ a: ['1', Buffer.from([255])], none: null }));
});

test('a reference brings every timestamp back that a record can have', () => {
  for (const timestampMs of [-1, -2, 0, 8.64e15 + 1, 1.7e18, -(2 ** 63), 2 ** 63]) {
    const reference = valid(writeReference(contentItem({ timestampMs }), NOTHING));
    assert.equal(reference.timestampMs, timestampMs);
  }
});

test('an ordinary reference is short', () => {
  const text = writeReference(contentItem(), { ...NOTHING, shape: 'lang,=score' });
  assert.equal(text, '[3,41,1767225600000,"user-1","lang,=score"]');
});

test('an invalid reference is refused with a reason that does not show it', () => {
  for (const text of [
    '',
    'SECRET',
    '{}',
    '[]',
    '[1,2]',
    '[1,2,3,null,0,{},7]',
    '[-1,2,3,null]',
    '[1,2.5,3,null]',
    '[1,9007199254740993,3,null]',
    '["SECRET",2,3,null]',
    '[1,2,1e300,null]',
    '[1,2,"SECRET",null]',
    '[1,2,3,["SECRET","x"]]',
    '[1,2,3,{}]',
    '[1,2,3,null,7]',
    '[1,2,3,null,0,"SECRET"]',
    '[1,2,3,null,0,{"r":-1}]',
    '[1,2,3,null,0,{"h":[["SECRET"]]}]',
    '[1,2,3,null,0,{"h":"SECRET"}]',
    '[1,2,3,null,0,{"x":1}]',
    '[1,2,3,null,0,{"m":[["a","not json SECRET"]]}]',
  ]) {
    const read = readReference(text);
    assert.ok(!read.ok, text);
    assert.doesNotMatch(read.error, /SECRET/);
  }
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readReference, writeReference } from '../../../src/review/reference.ts';
import { contentItem } from './sample.ts';

const NOTHING = { shape: undefined, expected: undefined, metadata: undefined };

test('a reference brings key and headers back byte by byte', () => {
  const headers = {
    text: Buffer.from('plain'),
    bytes: Buffer.from([0, 255, 10]),
    several: [Buffer.from('a'), Buffer.from([200])],
    empty: Buffer.alloc(0),
    nothing: undefined,
  };
  for (const key of [null, Buffer.alloc(0), Buffer.from('k"\\,\0🙂\ufeff'), Buffer.from([255, 254])]) {
    const reference = readReference(writeReference(contentItem({ key, headers, replay: 3 }), NOTHING));
    assert.ok(typeof reference !== 'string', String(reference));
    assert.deepEqual(reference.key === null ? null : Buffer.from(reference.key), key);
    assert.equal(reference.replay, 3);
    const back = reference.headers ?? {};
    assert.deepEqual(Object.keys(back), Object.keys(headers));
    assert.deepEqual(Buffer.from(back.text as string), headers.text);
    assert.deepEqual(back.bytes, headers.bytes);
    assert.deepEqual(
      (back.several as (Buffer | string)[]).map((one) => Buffer.from(one)),
      headers.several,
    );
    assert.deepEqual(Buffer.from(back.empty as string), headers.empty);
    assert.equal(back.nothing, undefined);
  }
});

test('an ordinary reference is short', () => {
  const text = writeReference(contentItem(), { ...NOTHING, shape: 'lang,=score' });
  assert.equal(text, '[3,41,1767225600000,"user-1","lang,=score"]');
});

test('what is no reference is refused with a reason that does not show it', () => {
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
    const reason = readReference(text);
    assert.equal(typeof reason, 'string', text);
    assert.doesNotMatch(String(reason), /SECRET/);
  }
});

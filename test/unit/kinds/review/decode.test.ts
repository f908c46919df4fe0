import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RecordHeaders } from '../../../../src/core/record.ts';
import { createDecoder } from '../../../../src/kinds/review/decode.ts';
import { DEFAULT_MAPPING } from '../../../../src/kinds/review/mapping.ts';
import { sourceRecord } from './sample.ts';

const decode = createDecoder(DEFAULT_MAPPING);

function reasonOf(value: unknown, decoder = decode): string {
  const decoded = decoder(sourceRecord(value), 0);
  assert.ok('poison' in decoded, JSON.stringify(decoded));
  assert.doesNotMatch(decoded.poison.message, /SECRET/);
  return decoded.poison.reason;
}

test('a content event becomes an item with all its parts', () => {
  const event = { content: 'hi', type: 'post', metadata: { a: 1 }, expected_result: 'ham' };
  const decoded = decode(sourceRecord(event), 2);
  assert.ok('item' in decoded);
  const { bytes, ...item } = decoded.item;
  assert.deepEqual(item, {
    partition: 3,
    offset: 41,
    timestampMs: Date.UTC(2026, 0, 1),
    key: Buffer.from('user-1'),
    headers: [],
    type: 'post',
    content: 'hi',
    metadata: { a: 1 },
    expected: 'ham',
    replay: 2,
  });
  assert.ok(bytes > JSON.stringify(event).length);
});

test('every way in which a record cannot be reviewed has its reason, and no message shows what the record holds', () => {
  const good = { content: 'SECRET', type: 'post' };
  assert.equal(reasonOf(null), 'null_value');
  assert.equal(reasonOf(Buffer.alloc(0)), 'not_json');
  assert.equal(reasonOf('\ufeff{}'), 'not_json');
  assert.equal(reasonOf('{"content":"SECRET'), 'not_json');
  assert.equal(reasonOf(Buffer.from([0x22, 0xff, 0x22])), 'not_json');
  assert.equal(reasonOf('"SECRET"'), 'not_an_object');
  assert.equal(reasonOf('[1]'), 'not_an_object');
  assert.equal(reasonOf('null'), 'not_an_object');
  assert.equal(reasonOf({ type: 'post' }), 'no_content');
  assert.equal(reasonOf({ ...good, content: 7 }), 'no_content');
  assert.equal(reasonOf({ ...good, content: ['SECRET'] }), 'no_content');
  assert.equal(reasonOf({ ...good, content: '' }), 'empty_content');
  assert.equal(reasonOf({ content: 'SECRET' }), 'no_type');
  assert.equal(reasonOf({ ...good, type: '' }), 'no_type');
  assert.equal(reasonOf({ ...good, type: 1 }), 'no_type');
  assert.equal(reasonOf({ ...good, type: 'S'.repeat(257) }), 'too_large');
  assert.ok('item' in decode(sourceRecord({ ...good, type: 'S'.repeat(256) }), 0));
  assert.equal(reasonOf({ ...good, metadata: ['SECRET'] }), 'bad_metadata');
  assert.equal(reasonOf({ ...good, metadata: 'SECRET' }), 'bad_metadata');
  assert.equal(reasonOf({ ...good, expected_result: true }), 'bad_metadata');
});

test('a value of more objects, members and items than memory has room for is refused before it is parsed', () => {
  const event = (rest: string) =>
    decode(sourceRecord(Buffer.from(`{"content":"x","type":"t","rest":${rest}}`)), 0);
  const reasonFor = (rest: string) => {
    const decoded = event(rest);
    return 'poison' in decoded && decoded.poison.reason;
  };
  const repeated = (text: string, times: number) => `[${text.repeat(times)}0]`;
  for (const text of ['{},', '[],', '{"a":{}},', '1,'])
    assert.equal(
      reasonFor(repeated(text, Math.ceil((2 ** 20 + 1) / text.replace(/[^[{,:]/g, '').length))),
      'too_large',
      text,
    );
  assert.equal(reasonFor('['.repeat(2 ** 21)), 'too_large');
  assert.ok('item' in event(repeated('{},', 2 ** 19 - 100)));
  assert.ok('item' in event(JSON.stringify('{[,:\\"'.repeat(2 ** 20))));
});

test('a header that comes twice, without a value, travels like any other', () => {
  const twice: RecordHeaders = [
    ['traceparent', null],
    ['other', null],
    ['traceparent', null],
  ];
  const decoded = createDecoder({ ...DEFAULT_MAPPING, headers: ['traceparent'] })(
    { ...sourceRecord({ content: 'hi', type: 'post' }), headers: twice },
    0,
  );
  assert.ok('item' in decoded);
  assert.deepEqual(decoded.item.headers, [twice[0], twice[2]]);
});

test('blank content is content: nothing is trimmed', () => {
  assert.ok('item' in decode(sourceRecord({ content: ' \n', type: 'post' }), 0));
});

test('absent or null metadata is an empty object, and a null expected result counts as absent', () => {
  for (const value of [
    { content: 'x', type: 't' },
    { content: 'x', type: 't', metadata: null, expected_result: null },
  ]) {
    const decoded = decode(sourceRecord(value), 0);
    assert.ok('item' in decoded);
    assert.deepEqual(decoded.item.metadata, {});
    assert.equal(decoded.item.expected, undefined);
  }
});

test('content is measured in bytes of UTF-8', () => {
  const small = createDecoder({ ...DEFAULT_MAPPING, maxContentBytes: 6 });
  assert.ok('item' in small(sourceRecord({ content: '€€', type: 't' }), 0));
  assert.equal(reasonOf({ content: '€€x', type: 't' }, small), 'too_large');
});

test('a type outside the list is refused, unless the record was accepted before', () => {
  const strict = createDecoder({ ...DEFAULT_MAPPING, allowedTypes: ['post'], nullValues: 'skip' });
  assert.equal(reasonOf({ content: 'x', type: 'image' }, strict), 'type_not_allowed');
  const again = strict(sourceRecord({ content: 'x' }), 0, { type: 'image' });
  assert.ok('item' in again);
  assert.equal(again.item.type, 'image');
});

test('a null value is skipped when configured so', () => {
  const lenient = createDecoder({ ...DEFAULT_MAPPING, nullValues: 'skip' });
  assert.deepEqual(lenient(sourceRecord(null), 0), { skip: 'null_value' });
});

test('paths lead into nested objects, and never to what an object inherits', () => {
  const mapping = {
    ...DEFAULT_MAPPING,
    content: 'post.body',
    type: { constant: 't' },
    metadata: 'post."meta.data"',
  };
  const decoded = createDecoder(mapping)(
    sourceRecord({ post: { body: 'x', 'meta.data': { a: 1 } } }),
    0,
  );
  assert.ok('item' in decoded);
  assert.deepEqual(decoded.item.metadata, { a: 1 });
  assert.equal(
    reasonOf({ type: 't' }, createDecoder({ ...DEFAULT_MAPPING, content: 'constructor.name' })),
    'no_content',
  );
  for (const content of ['a..b', '', 'a\\.b']) {
    assert.throws(() => createDecoder({ ...DEFAULT_MAPPING, content }), {
      name: 'RangeError',
      message: /is not a valid expression/,
    });
  }
});

test('only listed headers are copied, whatever their names', () => {
  const decoder = createDecoder({ ...DEFAULT_MAPPING, headers: ['trace', 'absent', '__proto__'] });
  const headers: RecordHeaders = [
    ['trace', Buffer.from([255])],
    ['other', 'x'],
    ['__proto__', 'p'],
  ];
  const decoded = decoder(sourceRecord({ content: 'x', type: 't' }, { headers }), 0);
  assert.ok('item' in decoded);
  assert.deepEqual(decoded.item.headers, [
    ['trace', Buffer.from([255])],
    ['__proto__', 'p'],
  ]);
});

test('the last of several members of one name counts, and __proto__ is a name like any other', () => {
  const decoded = decode(
    sourceRecord(
      '{"content":"a","content":"b","type":"t","metadata":{"x":1,"x":2,"__proto__":{"y":1}}}',
    ),
    0,
  );
  assert.ok('item' in decoded);
  assert.equal(decoded.item.content, 'b');
  assert.equal(JSON.stringify(decoded.item.metadata), '{"x":2,"__proto__":{"y":1}}');
});

test('nesting without end is refused inside metadata and harmless outside of it', () => {
  const deep = '['.repeat(200_000) + ']'.repeat(200_000);
  assert.equal(reasonOf(`{"content":"x","type":"t","metadata":{"d":${deep}}}`), 'bad_metadata');
  assert.ok('item' in decode(sourceRecord(`{"content":"x","type":"t","other":${deep}}`), 0));
  const lossy = `{"content":"x","type":"t","metadata":{"n":12345678901234567890},"other":${deep}}`;
  assert.equal(reasonOf(lossy), 'bad_metadata');
});

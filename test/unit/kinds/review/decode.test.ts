import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RecordHeaders } from '../../../../src/core/record.ts';
import {
  createDecoder,
  DEFAULT_MAPPING,
  type MappingOptions,
} from '../../../../src/kinds/review/decode.ts';
import { valuesOf } from '../../../support/records/item-values.ts';
import { sourceRecord } from './sample.ts';

const decoderOf = (over: Partial<MappingOptions> = {}) =>
  createDecoder({ ...DEFAULT_MAPPING, ...over }).decode;
const decode = decoderOf();

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
  const { bytes, ...item } = valuesOf(decoded.item);
  assert.deepEqual(item, {
    partition: 3,
    offset: 41,
    timestampMs: Date.UTC(2026, 0, 1),
    key: Buffer.from('user-1'),
    headers: [],
    type: 'post',
    lane: undefined,
    content: 'hi',
    metadata: { a: 1 },
    expected: 'ham',
    replay: 2,
  });
  assert.ok(bytes > JSON.stringify(event).length);
});

test('each record that cannot be reviewed gets its specific reason, without its content in the message', () => {
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

test('the number of members and elements of metadata is limited across all levels', () => {
  const metadata = (count: number) =>
    `{"content":"x","type":"t","metadata":{"a":[${'{},'.repeat(count)}0]}}`;
  assert.ok('item' in decode(sourceRecord(metadata(99_998)), 0));
  assert.equal(reasonOf(metadata(99_999)), 'too_large');
});

test('a repeated header without a value is copied like any other', () => {
  const twice: RecordHeaders = [
    ['traceparent', null],
    ['other', null],
    ['traceparent', null],
  ];
  const decoded = decoderOf({ headers: ['traceparent'] })(
    { ...sourceRecord({ content: 'hi', type: 'post' }), headers: twice },
    0,
  );
  assert.ok('item' in decoded);
  assert.deepEqual(decoded.item.headers, [twice[0], twice[2]]);
});

test('absent or null metadata becomes an empty object, and a null expected result counts as absent', () => {
  for (const value of [
    { content: 'x', type: 't' },
    { content: 'x', type: 't', metadata: null, expected_result: null },
  ]) {
    const decoded = decode(sourceRecord(value), 0);
    assert.ok('item' in decoded);
    assert.deepEqual(valuesOf(decoded.item).metadata, {});
    assert.equal(decoded.item.expected, undefined);
  }
});

test('the size of content is measured in UTF-8 bytes', () => {
  const small = decoderOf({ maxContentBytes: 6 });
  assert.ok('item' in small(sourceRecord({ content: '€€', type: 't' }), 0));
  assert.equal(reasonOf({ content: '€€x', type: 't' }, small), 'too_large');
});

test('a type outside the list is refused unless the record was accepted earlier', () => {
  const strict = decoderOf({ allowedTypes: ['post'], nullValues: 'skip' });
  assert.equal(reasonOf({ content: 'x', type: 'image' }, strict), 'type_not_allowed');
  const again = strict(sourceRecord({ content: 'x' }), 0, { type: 'image' });
  assert.ok('item' in again);
  assert.equal(again.item.type, 'image');
});

test('a null value is skipped if configured', () => {
  const lenient = decoderOf({ nullValues: 'skip' });
  assert.deepEqual(lenient(sourceRecord(null), 0), { skip: 'null_value' });
});

test('paths select members of nested objects, never inherited properties', () => {
  const mapping = {
    ...DEFAULT_MAPPING,
    content: 'post.body',
    type: { constant: 't' },
    metadata: 'post."meta.data"',
  };
  const decoded = decoderOf(mapping)(
    sourceRecord({ post: { body: 'x', 'meta.data': { a: 1 } } }),
    0,
  );
  assert.ok('item' in decoded);
  assert.deepEqual(valuesOf(decoded.item).metadata, { a: 1 });
  assert.equal(reasonOf({ type: 't' }, decoderOf({ content: 'constructor.name' })), 'no_content');
  for (const content of ['a..b', '', 'a\\.b']) {
    assert.throws(() => decoderOf({ content }), {
      name: 'RangeError',
      message: /is not a valid expression/,
    });
  }
});

test('only listed headers are copied, whatever their names', () => {
  const decoder = decoderOf({ headers: ['trace', 'absent', '__proto__'] });
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

test('nesting is limited to 64 levels in metadata and to 1,000 levels elsewhere', () => {
  const deep = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);
  assert.equal(reasonOf(`{"content":"x","type":"t","metadata":{"d":${deep(64)}}}`), 'bad_metadata');
  assert.ok(
    'item' in decode(sourceRecord(`{"content":"x","type":"t","metadata":{"d":${deep(63)}}}`), 0),
  );
  assert.ok('item' in decode(sourceRecord(`{"content":"x","type":"t","other":${deep(999)}}`), 0));
  assert.equal(reasonOf(`{"content":"x","type":"t","other":${deep(1_000)}}`), 'too_large');
});

/** CloudEvents 1.0 in the structured and the binary mode of its Kafka binding. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { cloudEventsFormat } from '../../../../src/events/formats/cloudevents.ts';
import { headerList, type NamedHeaders } from '../../../support/records/headers.ts';
import { documentOf, poisonOf } from '../../../support/records/read-event.ts';
import { sourceRecord } from '../../kinds/review/sample.ts';

const BINARY = {
  ce_specversion: Buffer.from('1.0'),
  ce_id: Buffer.from('e1'),
  ce_source: Buffer.from('/posts'),
  ce_type: Buffer.from('post.created'),
};
const ATTRIBUTES = { specversion: '1.0', id: 'e1', source: '/posts', type: 'post.created' };
const STRUCTURED = { 'Content-Type': Buffer.from('application/cloudevents+json; charset=UTF-8') };

const read = (headers: NamedHeaders, value: string | Buffer) =>
  cloudEventsFormat.read({
    ...sourceRecord(null),
    headers: headerList(headers),
    value: Buffer.from(value),
  });

test('in binary mode data is JSON without a content type and with +json, text with text/*, and base64 otherwise', () => {
  const withType = (type: string) => ({ ...BINARY, 'content-type': type });
  assert.deepEqual(documentOf(read(BINARY, '[1]')), { ...ATTRIBUTES, data: [1] });
  assert.deepEqual(documentOf(read(withType('Application/vnd.post+JSON'), '{"a":1}')), {
    ...ATTRIBUTES,
    datacontenttype: 'Application/vnd.post+JSON',
    data: { a: 1 },
  });
  assert.deepEqual(documentOf(read(withType('text/plain'), 'hi')), {
    ...ATTRIBUTES,
    datacontenttype: 'text/plain',
    data: 'hi',
  });
  assert.deepEqual(documentOf(read(withType('application/avro'), 'hi')), {
    ...ATTRIBUTES,
    datacontenttype: 'application/avro',
    data_base64: 'aGk=',
  });
});

test('a record that is not a CloudEvent is refused with the missing part, without its value', () => {
  const reasons: [NamedHeaders, string, RegExp][] = [
    [{}, '{"content":"SECRET"}', /neither the header ce_specversion/],
    [{ ...BINARY, ce_id: '' }, '"SECRET"', /attribute "id"/],
    [{ ...BINARY, ce_type: Buffer.from([0xff]) }, '"SECRET"', /attribute "type"/],
    [{ ...BINARY, ce_specversion: '0.3' }, '"SECRET"', /version 1\.0/],
    [STRUCTURED, '{"data":"SECRET"}', /specversion/],
    [
      { 'content-type': 'application/cloudevents-batch+json' },
      '["SECRET"]',
      /batches are not supported/,
    ],
    [
      { 'content-type': 'application/cloudevents+avro' },
      'SECRET',
      /application\/cloudevents\+json/,
    ],
  ];
  for (const [headers, value, message] of reasons) {
    const { poison } = read(headers, value);
    assert.equal(poison?.reason, 'undecodable');
    assert.match(poison?.message ?? '', message);
    assert.doesNotMatch(poison?.message ?? '', /SECRET/);
  }
  assert.equal(read(STRUCTURED, '["SECRET"]').poison?.reason, 'not_an_object');
  assert.equal(poisonOf(read(STRUCTURED, '{SECRET'))?.reason, 'not_json');
  assert.equal(poisonOf(read(BINARY, '{SECRET'))?.reason, 'not_json');
});

test('reading never throws', () => {
  const one = fc.oneof(
    fc.string(),
    fc.uint8Array({ maxLength: 8 }).map((bytes) => Buffer.from(bytes)),
    fc.constant(null),
  );
  const header = fc.oneof(one, fc.array(one));
  const name = fc.constantFrom(
    'content-type',
    'ce_specversion',
    'ce_id',
    'ce_source',
    'ce_type',
    'ce_x',
    '__proto__',
  );
  fc.assert(
    fc.property(fc.dictionary(name, header), fc.uint8Array({ maxLength: 64 }), (headers, value) => {
      const one = read({ ...BINARY, ...headers }, Buffer.from(value));
      assert.ok((one.bytes === undefined) !== (one.poison === undefined));
    }),
  );
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { textFormat } from '../../../../src/events/text-format.ts';
import { documentOf } from '../../../support/records/read-event.ts';
import { sourceRecord } from '../../kinds/review/sample.ts';

const read = (value: Buffer) => textFormat.read({ ...sourceRecord(null), value });

test('the value is the content, whatever its form', () => {
  for (const text of ['hello', '{"content": 1}', '', 'żółć 😀\n"x"']) {
    assert.deepEqual(documentOf(read(Buffer.from(text))), { content: text });
  }
});

test('bytes that are not UTF-8 are refused and not shown', () => {
  const { poison } = read(Buffer.from([0xff, 0x53, 0x45, 0x43]));
  assert.deepEqual(poison, {
    reason: 'undecodable',
    message: 'the value is not text: its bytes are not UTF-8',
  });
});

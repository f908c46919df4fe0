import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RecordView, valueLengthOf, valuePlaceOf } from '../../../src/core/bytes/record-view.ts';
import { hasValue } from '../../../src/events/format.ts';
import { partsOf } from '../../support/records/record-parts.ts';

const bytes = Buffer.from('..keyvälue\xff', 'utf8');
const at = { partition: 1, offset: 2, timestampMs: 3, headers: [], bytes };

test('a record within a larger buffer provides views of its key and value, and its value as a string', () => {
  const view = new RecordView({ ...at, keyStart: 2, keyLength: 3, valueStart: 5, valueLength: 6 });
  const record = {
    partition: 1,
    offset: 2,
    timestampMs: 3,
    headers: [],
    key: Buffer.from('key'),
    value: Buffer.from('välue'),
  };
  assert.deepEqual(partsOf(view), record);
  assert.equal(view.value?.buffer, bytes.buffer);
  for (const one of [view, record]) {
    assert.ok(hasValue(one));
    const { bytes, start, end } = valuePlaceOf(one);
    assert.deepEqual([valueLengthOf(one), bytes.toString('utf8', start, end)], [6, 'välue']);
  }
});

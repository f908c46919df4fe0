/** Output formats: the rows to encode, and failures of the encoding. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ReadRow } from '../../../../src/core/bytes/result-slice.ts';
import { SliceWriter } from '../../../../src/core/bytes/slice-writer.ts';
import type { OutgoingRecord } from '../../../../src/core/record.ts';

test('records of a slice are encoded; malformed rows and poison stay unchanged, and a failure reports only its location', () => {
  const record = (value: string): OutgoingRecord => ({ key: 'k', value });
  const rows: ReadRow[] = [
    { partition: 0, offset: 0, status: 'success', result: 'spam', record: record('{"id":1}') },
    { partition: 0, offset: 1, status: 'error', result: undefined, record: record('broken') },
    { malformed: 'no reference' },
    { partition: 0, offset: 2, poison: { reason: 'review_failed', message: 'm' } },
  ];
  const given = SliceWriter.sliceOf(rows);
  const slice = SliceWriter.encoded(given, ({ value, ...rest }) => {
    if (String(value) === 'broken') throw new TypeError('quoted content');
    return { ...rest, value: `marked ${String(value)}` };
  });
  assert.ok(given.bytes.buffer.detached);
  const [first, ...others] = slice;
  assert.ok(first !== undefined && 'record' in first);
  assert.deepEqual([first.offset, first.result], [0, 'spam']);
  assert.equal(String(first.record.value), 'marked {"id":1}');
  assert.equal(String(first.record.key), 'k');
  const [failed, ...passed] = [
    ...others.filter((row) => 'offset' in row && row.offset === 1),
    ...others.filter((row) => !('offset' in row && row.offset === 1)),
  ];
  assert.ok(failed !== undefined && 'poison' in failed);
  const { reason, message, crash } = failed.poison;
  assert.equal(reason, 'internal_error');
  assert.match(crash ?? '', /^TypeError\n {4}at .*output\.test\.ts/);
  assert.doesNotMatch(`${message} ${crash}`, /quoted content/);
  assert.deepEqual(passed, rows.slice(2));
});

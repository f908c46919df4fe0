/** Output formats: which rows are encoded, and what happens if encoding fails. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ReadRow } from '../../../../src/core/bytes/result-slice.ts';
import { SliceWriter } from '../../../../src/core/bytes/slice-writer.ts';
import type { OutgoingRecord } from '../../../../src/core/record.ts';
import { FramedReader, RegisteredFormat } from '../../../../src/events/formats/output-format.ts';
import { readDecision } from '../../../../src/tools/inspect/decision-value.ts';
import { contractFile } from '../../../support/contracts.ts';
import { MemoryRegistry } from '../../../support/memory/schema-registry.ts';
import { SIGNAL } from '../../kinds/review/sample.ts';

test('records of a slice are encoded; malformed rows and poison stay, and a failure reports only its location', () => {
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

test('tools read records of every format', async () => {
  const json = contractFile('examples/decision.json');
  const wanted = await readDecision(Buffer.from(json), undefined);
  assert.equal(wanted?.status, JSON.parse(json).status);
  const registry = new MemoryRegistry();
  const reader = new FramedReader(registry);
  const record = { key: null, value: Buffer.from(json) };
  const shown = (value: OutgoingRecord['value']) =>
    readDecision(Buffer.from(value as Buffer), (framed) => reader.read(framed, SIGNAL));
  assert.deepEqual(await shown(json), wanted);
  for (const format of ['avro', 'protobuf', 'json-schema'] as const) {
    const writer = new RegisteredFormat('decision', format, `${format}-value`);
    writer.writeWith(await registry.register(writer.subject, writer.codec.schema, SIGNAL));
    const { value } = writer.encode(record);
    assert.deepEqual(await shown(value), wanted, format);
    assert.equal(await readDecision(value as Buffer, undefined), null);
  }
  // Unknown schema, foreign schema, invalid frame, invalid JSON.
  const foreign = await registry.register('foreign', { type: 'AVRO', text: '"string"' }, SIGNAL);
  for (const value of [
    Buffer.of(0, 0, 0, 3, 9, 1),
    Buffer.of(0, 0, 0, 0, foreign, 2, 65),
    Buffer.of(0, 1),
    Buffer.from('x'),
  ]) {
    assert.equal(await shown(value), null);
  }
});

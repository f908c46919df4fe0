/** Output formats around a kind: what is encoded, what is not, and what happens when an encoding fails. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ItemRow } from '../../../../src/core/bytes/result-slice.ts';
import type { PerItemKind, PipelineKind } from '../../../../src/core/ports/pipeline-kind.ts';
import type { OutgoingRecord } from '../../../../src/core/record.ts';
import {
  FramedReader,
  type OutputFormat,
  RegisteredFormat,
  withOutputFormat,
} from '../../../../src/events/formats/output-format.ts';
import { readDecision } from '../../../../src/tools/inspect/decision-value.ts';
import { contractFile } from '../../../support/contracts.ts';
import { MemoryRegistry } from '../../../support/memory/schema-registry.ts';
import {
  collectRows,
  contentItem,
  JOB,
  kindWithFile,
  referenceOf,
  SIGNAL,
} from '../../kinds/review/sample.ts';

const FILE = [
  'Content,Status,Service result,connector_ref',
  `a,SUCCESS,spam,"${referenceOf({ partition: 0, offset: 0 })}"`,
  'b,SUCCESS,ham',
  `c,ERROR,,"${referenceOf({ partition: 0, offset: 2 })}"`,
];

/** Values as texts, with a mark in front. */
const MARKED: OutputFormat = {
  encode: (record) => ({ ...record, value: `marked ${String(record.value)}` }),
};

test('rows are encoded; malformed rows pass; so are decisions without a row', async () => {
  const kind = withOutputFormat(kindWithFile(FILE.join('\n')), MARKED);
  assert.ok('results' in kind);
  const { rows } = await collectRows(kind);
  assert.equal(rows.length, 3);
  for (const row of rows) {
    if (!('record' in row)) continue;
    assert.match(String(row.record.value), /^marked \{"id"/);
  }
  assert.equal(rows.filter((row) => 'malformed' in row).length, 1);
  assert.match(
    String(kind.failure(contentItem(), { code: 'x', message: 'y' }, JOB).value),
    /^marked/,
  );
});

test('outcomes of kinds without result files are encoded, also of records that are gone; poison passes as it is', async () => {
  const record: OutgoingRecord = { key: null, value: '{"id":"e-0-0"}' };
  const decided: ItemRow = { partition: 0, offset: 0, status: 'success', record };
  const poisoned: ItemRow = {
    partition: 0,
    offset: 1,
    poison: { reason: 'review_failed', message: 'm' },
  };
  const { results: _results, ...steps } = kindWithFile('');
  const source: PerItemKind = {
    ...steps,
    async *outcomes() {
      yield [decided, poisoned];
    },
    outcomeOf: ({ offset }) => (offset === 0 ? decided : undefined),
  };
  const kind = withOutputFormat(source, MARKED) as PerItemKind;
  const about = () => JOB;
  const state = { state: 'finished', rawState: 'x' } as const;
  const all: ItemRow[] = [];
  for await (const some of kind.outcomes([], state, about, SIGNAL, false)) all.push(...some);
  assert.deepEqual(all, [
    { ...decided, record: { key: null, value: 'marked {"id":"e-0-0"}' } },
    poisoned,
  ]);
  const at = (offset: number) => kind.outcomeOf({ partition: 0, offset, replay: 0 }, state, JOB);
  assert.deepEqual(at(0), all[0]);
  assert.equal(at(1), undefined);
});

test('a record that cannot be encoded becomes a dead letter with the place of the exception alone', async () => {
  const broken: OutputFormat = {
    encode() {
      throw new TypeError('quoted content');
    },
  };
  const kind: PipelineKind = withOutputFormat(kindWithFile(FILE.join('\n')), broken);
  assert.ok('results' in kind);
  const { rows } = await collectRows(kind);
  const poisons = rows.flatMap((row) => ('poison' in row ? [row.poison] : []));
  assert.ok(poisons.length > 0);
  for (const { reason, message, crash } of poisons) {
    assert.equal(reason, 'internal_error');
    assert.match(crash ?? '', /^TypeError\n {4}at .*output\.test\.ts/);
    assert.doesNotMatch(`${message} ${crash}`, /quoted content/);
  }
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
  // Of an unknown schema, of a schema that is not ours, no JSON.
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

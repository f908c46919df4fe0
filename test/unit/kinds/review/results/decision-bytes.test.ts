import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ResultSlice } from '../../../../../src/core/bytes/result-slice.ts';
import { SliceWriter } from '../../../../../src/core/bytes/slice-writer.ts';
import { DecisionBytes } from '../../../../../src/kinds/review/results/decision-bytes.ts';
import { MetadataPlans } from '../../../../../src/kinds/review/results/metadata-plans.ts';
import { readResultHeader } from '../../../../../src/kinds/review/results/result-header.ts';
import { RowScanner } from '../../../../../src/kinds/review/results/row-scanner.ts';
import { JOB } from '../sample.ts';

const HEADER = [
  'Content',
  'Status',
  'Acme result',
  'Expected result',
  'Labels',
  'lang',
  'score',
  'connector_ref',
];

/** The decision of a row that is written from its bytes; undefined when it is left to the reader of cells. */
function decisionOf(row: string, job = JOB): Record<string, unknown> | undefined {
  const header = readResultHeader(HEADER, { referenceColumn: 'connector_ref' });
  const decisions = new DecisionBytes(
    header,
    { topic: 'events', includeContent: true },
    new MetadataPlans(header),
  );
  const bytes = Buffer.from(`${row}\n`);
  const scanner = new RowScanner();
  scanner.scan(bytes, 0);
  const slice = new SliceWriter();
  const isWritten = decisions.write(scanner, bytes, job, slice);
  const columns = slice.finish();
  assert.equal(columns !== undefined, isWritten);
  return columns && JSON.parse(String(new ResultSlice(columns).record(0).value));
}

const row = (over: { status?: string; labels?: string; score?: string; reference?: string } = {}) =>
  `"x, ""y""",${over.status ?? 'SUCCESS'},ok,,${over.labels ?? '"[""a""]"'},en,${over.score ?? '0.5'},${over.reference ?? '"[3,41,7,""k"",""lang,=score""]"'}`;

test('rows as the connector uploads them and the service answers them are written from their bytes', () => {
  const decision = decisionOf(row());
  assert.equal(decision?.id, 'events-3-41');
  assert.deepEqual(decision?.metadata, { lang: 'en', score: 0.5 });
  assert.equal(decision?.content, 'x, "y"');
  for (const reference of [
    '"[0,0,0,null]"',
    '"[3,41,7,null,""=score""]"',
    '"[3,41,7,""é""]"',
    '"[3,41,7,"""",""lang""]"',
  ])
    assert.ok(decisionOf(row({ reference })) !== undefined, reference);
  for (const score of ['1', '-1.50', 'true', '1e5', '"{""a"": [1]}"', '12345678901234567890'])
    assert.ok(decisionOf(row({ score })) !== undefined, score);
});

test('what is out of the ordinary is left to the reader of cells, and nothing is written', () => {
  const references = [
    '"[3,41,-1,null]"',
    '"[3,41,7,""k"",""lang"",{""r"":1}]"',
    '"[3,41,7,[""/w==""]]"',
    '"[3,041,7,null]"',
    '"[3, 41,7,null]"',
  ];
  for (const reference of references)
    assert.equal(decisionOf(row({ reference })), undefined, reference);
  assert.equal(decisionOf(row({ reference: '"[3,41,7,null,""missing""]"' })), undefined);
  for (const status of ['ERROR', 'success', '', 'PENDING'])
    assert.equal(decisionOf(row({ status })), undefined, status);
  for (const score of ['', '01', 'x', '"[1"'])
    assert.equal(decisionOf(row({ score })), undefined, score);
  assert.equal(decisionOf(row({ labels: 'a; b' })), undefined);
  assert.equal(decisionOf(`${row()},one more`), undefined);
  assert.throws(() => decisionOf(row(), { ...JOB, decidedAtMs: Number.NaN }), RangeError);
});

test('a decision that may become very large is left to the reader of cells, which counts its bytes', () => {
  assert.ok(decisionOf(row().replace(',en,', `,${'e'.repeat(30_000)},`)) !== undefined);
  assert.equal(decisionOf(row().replace(',en,', `,${'e'.repeat(60_000)},`)), undefined);
});

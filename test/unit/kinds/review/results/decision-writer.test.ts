import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ResultSlice } from '../../../../../src/core/bytes/result-slice.ts';
import { SliceWriter } from '../../../../../src/core/bytes/slice-writer.ts';
import { readResultHeader } from '../../../../../src/kinds/review/results/result-header.ts';
import { RowScanner } from '../../../../../src/kinds/review/results/row-scanner.ts';
import { DecisionWriter } from '../../../../../src/kinds/review/results/writers/decision-writer.ts';
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

/** Returns the decision of a row, or the row that has none. */
function written(row: string, job = JOB) {
  const header = readResultHeader(HEADER, { referenceColumn: 'connector_ref' });
  const options = { topic: 'events', includeContent: true };
  const decisions = new DecisionWriter(header, HEADER, options, () => {});
  const bytes = Buffer.from(`${row}\n`);
  const scanner = new RowScanner();
  scanner.scan(bytes, 0);
  const slice = new SliceWriter();
  decisions.write(scanner, job, slice);
  const columns = slice.finish();
  assert.ok(columns !== undefined);
  const read = new ResultSlice(columns);
  const [other] = read.others;
  return { decision: read.length === 1 ? JSON.parse(String(read.record(0).value)) : {}, other };
}

const row = (over: { status?: string; labels?: string; score?: string; reference?: string } = {}) =>
  `"x, ""y""",${over.status ?? 'SUCCESS'},ok,,${over.labels ?? '"[""a""]"'},en,${over.score ?? '0.5'},${over.reference ?? '"[3,41,7,""k"",""lang,=score""]"'}`;

test('rows as the connector uploads them become decisions', () => {
  const { decision } = written(row());
  assert.equal(decision.id, 'events-3-41');
  assert.deepEqual(decision.metadata, { lang: 'en', score: 0.5 });
  assert.equal(decision.content, 'x, "y"');
  for (const reference of [
    '"[0,0,0,null]"',
    '"[3,41,7,null,""=score""]"',
    '"[3,41,7,""é""]"',
    '"[3,41,7,"""",""lang""]"',
  ])
    assert.equal(written(row({ reference })).other, undefined, reference);
  for (const score of ['1', '-1.50', 'true', '1e5', '"{""a"": [1]}"', '12345678901234567890'])
    assert.equal(written(row({ score })).other, undefined, score);
});

test('references and states in other forms become decisions, with all that they carry', () => {
  const of = (over: Parameters<typeof row>[0]) => written(row(over)).decision;
  assert.equal(of({ reference: '"[3,41,-1,null]"' }).source.timestamp, null);
  assert.equal(of({ reference: '"[3,41,7,""k"",""lang"",{""r"":1}]"' }).id, 'events-3-41#1');
  const { key, key_encoding } = of({ reference: '"[3,41,7,[""/w==""]]"' }).source;
  assert.deepEqual([key, key_encoding], ['/w==', 'base64']);
  assert.equal(of({ reference: '"[3, 41,7,null]"' }).source.offset, 41);
  const carried = '"[3,41,7,""k"",""lang"",{""x"":""ham"",""m"":[[""n"",""10.0""]]}]"';
  const { expected_result, metadata } = of({ reference: carried });
  assert.deepEqual([expected_result, metadata], ['ham', { lang: 'en', n: 10 }]);
  assert.deepEqual(of({ status: 'ERROR' }).error.code, 'review_failed');
  assert.equal(of({ status: 'success' }).status, 'SUCCESS');
  const postponed = of({ status: 'POSTPONED' });
  assert.deepEqual([postponed.status, postponed.service_status], ['SUCCESS', 'POSTPONED']);
  const { labels, labels_raw } = of({ labels: 'a; b' });
  assert.deepEqual([labels.length, labels_raw], [2, 'a; b']);
});

test('rows without a decision have a reason', () => {
  const reason = (text: string) => {
    const { other } = written(text);
    return other !== undefined && 'malformed' in other ? other.malformed : undefined;
  };
  assert.match(reason(row({ reference: '"[3,041,7,null]"' })) ?? '', /not JSON/);
  assert.match(reason(row({ reference: '"[3,41,7,null,""missing""]"' })) ?? '', /lacks/);
  for (const score of ['', '01', 'x', '"[1"'])
    assert.match(reason(row({ score })) ?? '', /not the JSON/, score);
  assert.match(reason(`${row()},one more`) ?? '', /the row has 9 cells, the header 8/);
  const { other } = written(row(), { ...JOB, decidedAtMs: Number.NaN });
  assert.ok(other !== undefined && 'poison' in other);
  assert.equal(other.poison.reason, 'internal_error');
});

test('a large decision has room for its text, however much of it is escaped', () => {
  const plain = 'e'.repeat(60_000);
  assert.equal(written(row().replace(',en,', `,${plain},`)).decision.metadata.lang, plain);
  const controls = '\u0001'.repeat(60_000);
  assert.equal(written(row().replace(',en,', `,${controls},`)).decision.metadata.lang, controls);
});

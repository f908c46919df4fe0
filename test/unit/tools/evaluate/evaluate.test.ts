import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { printableLines } from '../../../../packages/client/src/cli/text.ts';
import { evaluationText } from '../../../../src/cli/commands/evaluate.ts';
import type { RecordHeaders } from '../../../../src/core/record.ts';
import { InspectError } from '../../../../src/tools/inspect/context.ts';
import {
  type EvaluationRequest,
  evaluate,
  MAX_CLASSES,
} from '../../../../src/tools/inspect/evaluate.ts';
import { inspectionOf } from '../../../support/engine/inspection.ts';
import { TOPICS, World } from '../../../support/engine/world.ts';

interface Written {
  readonly expected?: unknown;
  readonly result?: unknown;
  readonly status?: string;
  readonly type?: string;
  readonly labels?: unknown;
  readonly id?: string;
  readonly value?: string;
}

/** Evaluates an output topic with these decisions. */
async function evaluated(
  decisions: readonly Written[],
  request: Partial<EvaluationRequest> = {},
  kind = 'review',
) {
  const world = new World({ partitions: 1 });
  for (let n = 0; n < decisions.length; n++) world.event(0);
  for (const [at, one] of decisions.entries()) {
    const { expected = null, result = null, status = 'SUCCESS', type = 'post' } = one;
    const labels = one.labels ?? [];
    const value =
      one.value ??
      JSON.stringify({ status, result, expected_result: expected, labels, batch: { type } });
    const headers: RecordHeaders = [['event-id', one.id ?? `${TOPICS.source}-0-${at}`]];
    const record = { key: null, value: Buffer.from(value), headers, timestampMs: 1_000 + at };
    world.kafka.cluster.produce('decisions', 0, [record]);
  }
  const inspection = {
    ...inspectionOf(world, { pipeline: { kind } }),
    readFramed: async (framed: Buffer) => {
      await setImmediate();
      if (framed[4] !== 7) return undefined;
      return { status: 'SUCCESS', result: 'a', expected_result: 'a', batch: { type: 'post' } };
    },
  };
  const report = await world.through(evaluate(inspection, { fromMs: 0, ...request }));
  const text = printableLines(evaluationText(report));
  return { report, text };
}

const applied = (...names: string[]) => names.map((name) => ({ name, applied: true }));

const SAMPLE: readonly Written[] = [
  { expected: 'rejected', result: 'rejected', labels: applied('prize', 'prize', 'free') },
  { expected: 'rejected', result: 'rejected', labels: applied('free') },
  { expected: 'rejected', result: 'approved', labels: [{ name: 'prize', applied: false }] },
  { expected: 'approved', result: 'rejected', type: 'comment', labels: applied('free') },
  { expected: 'approved', result: 'approved', type: 'comment' },
  { result: 'approved' },
  { expected: '', result: 'approved' },
  { expected: 'approved', status: 'ERROR' },
  { expected: 'approved' },
];

test('decisions with an expected result are evaluated, and other decisions are counted separately', async () => {
  const { report, text } = await evaluated(SAMPLE);
  assert.deepEqual([report.evaluated, report.agreeing], [5, 3]);
  assert.equal(
    text,
    `RESULT     SUPPORT   DECIDED   PRECISION   RECALL       F1
rejected         3         3      66.7 %   66.7 %   66.7 %
approved         2         2      50.0 %   50.0 %   50.0 %

EXPECTED   DECIDED    COUNT
rejected   rejected       2
rejected   approved       1
approved   rejected       1
approved   approved       1

60.0 % of 5 decisions agree with the expected result.
Topic decisions, 1970-01-01T00:00:00.000Z to now.
Not evaluated:
  2 without an expected result
  1 with status ERROR
  1 without a result
`,
  );
});

test('a figure without decisions is null', async () => {
  const { report } = await evaluated([{ expected: 'spam', result: 'ham' }]);
  const figures = { precision: null, recall: 0, f1: 0 };
  assert.deepEqual(report.classes, [
    { name: 'spam', support: 1, decided: 0, ...figures },
    { name: 'ham', support: 0, decided: 1, precision: 0, recall: null, f1: 0 },
  ]);
});

test('a type, a label and a time range select the decisions', async () => {
  const counts = async (request: Partial<EvaluationRequest>) => {
    const { report } = await evaluated(SAMPLE, request);
    return [report.evaluated, report.withoutExpected, report.errors];
  };
  assert.deepEqual(await counts({ type: 'comment' }), [2, 0, 0]);
  assert.deepEqual(await counts({ label: 'free' }), [3, 0, 0]);
  assert.deepEqual(await counts({ label: 'free', type: 'comment' }), [1, 0, 0]);
  assert.deepEqual(await counts({ fromMs: 1_003, toMs: 1_006 }), [2, 1, 0]);
  assert.deepEqual(await counts({ type: 'none' }), [0, 0, 0]);
});

test('records that another application wrote are counted or ignored', async () => {
  const { report, text } = await evaluated([
    { value: 'not json' },
    { value: '5' },
    { value: 'null' },
    { value: '\0\0\0\0\u0008with an unknown schema id' },
    { value: '{"status":"SUCCESS","batch":null}' },
    { value: '{"status":{"toString":1},"batch":{"type":"post"}}' },
    { expected: { a: 1 }, result: ['spam'], labels: [null, 1, { name: 7, applied: true }] },
    { expected: 'a', result: 'a', id: 'other-0-1' },
    { expected: 'a', result: 'a', id: `${TOPICS.source}-0-0#9999999999999999` },
  ]);
  assert.deepEqual([report.unreadable, report.withoutExpected, report.evaluated], [6, 1, 0]);
  assert.match(text, /^No decision has an expected result: --from extends the time\.$/m);
  assert.match(text, /^ {2}6 unreadable$/m);
});

test('results beyond the limits of number and length share one class', async () => {
  const many = Array.from({ length: 120 }, (_, n) => ({
    expected: `class ${n} ${'long '.repeat(10)}`,
    result: `\u001b[31mclass ${n % 7 === 0 ? n : n + 1} ${'long '.repeat(n === 3 ? 50 : 10)}`,
  }));
  const { report, text } = await evaluated(many);
  assert.equal(report.classes.length, MAX_CLASSES + 1);
  const others = report.classes.find(({ name }) => name === null);
  assert.deepEqual([others?.precision, others?.recall, others?.f1], [null, null, null]);
  assert.equal(
    report.matrix.reduce((sum, { count }) => sum + count, 0),
    120,
  );
  assert.ok(!text.includes('\u001b'));
  assert.match(text, /^\(others\) /m);
  assert.match(text, /^… [\d,]+ rows more \(--json lists all\)$/m);
});

test('the agreement is exact beyond the maximum number of classes', async () => {
  const many = Array.from({ length: 120 }, (_, n) => ({
    expected: `class ${n}`,
    result: `class ${n % 7 === 0 ? n : n + 1}`,
  }));
  assert.equal((await evaluated(many)).report.agreeing, 18);
});

test('decisions with a schema id are decoded with their schema', async () => {
  const { report } = await evaluated([
    { expected: 'a', result: 'b' },
    { value: '\0\0\0\0\u0007schema' },
  ]);
  assert.deepEqual([report.evaluated, report.agreeing, report.unreadable], [2, 1, 0]);
});

test('only reviews are evaluated', async () => {
  await assert.rejects(evaluated([], {}, 'import'), (error) => {
    assert.ok(error instanceof InspectError);
    assert.match(error.message, /only the decisions of reviews/);
    return error.failure === 'usage';
  });
});

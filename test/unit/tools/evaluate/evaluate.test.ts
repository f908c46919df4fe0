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

/** Writes decisions to an output topic. */
function write(world: World, topic: string, decisions: readonly Written[]): void {
  for (const [at, one] of decisions.entries()) {
    const { expected = null, result = null, status = 'SUCCESS', type = 'post' } = one;
    const labels = one.labels ?? [];
    const value =
      one.value ??
      JSON.stringify({ status, result, expected_result: expected, labels, batch: { type } });
    const headers: RecordHeaders = [['event-id', one.id ?? `${TOPICS.source}-0-${at}`]];
    const record = { key: null, value: Buffer.from(value), headers, timestampMs: 1_000 + at };
    world.kafka.cluster.produce(topic, 0, [record]);
  }
}

/** Evaluates an output topic with these decisions. @param others decisions of another pipeline, to compare with */
async function evaluated(
  decisions: readonly Written[],
  request: Partial<EvaluationRequest> = {},
  kind = 'review',
  others?: readonly Written[],
) {
  const world = new World({ partitions: 1 });
  for (let n = 0; n < decisions.length; n++) world.event(0);
  write(world, 'decisions', decisions);
  const inspection = {
    ...inspectionOf(world, { pipeline: { kind } }),
    readFramed: async (framed: Buffer) => {
      await setImmediate();
      if (framed[4] !== 7) return undefined;
      return { status: 'SUCCESS', result: 'a', expected_result: 'a', batch: { type: 'post' } };
    },
  };
  world.kafka.cluster.createTopic('draft-decisions', 1);
  write(world, 'draft-decisions', others ?? []);
  const { pipeline } = inspection;
  const topics = { ...pipeline.topics, decisions: 'draft-decisions' };
  const against = others && { ...pipeline, name: 'draft', topics };
  const report = await world.through(evaluate(inspection, { fromMs: 0, against, ...request }));
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

EXPECTED   DECIDED    COUNT   EXAMPLES
rejected   rejected       2
rejected   approved       1   content-0-2
approved   rejected       1   content-0-3
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
  assert.match(text, /^No decision has an expected result\. Use --from to extend the period\.$/m);
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

const against = (
  decisions: readonly Written[],
  others: readonly Written[],
  request: Partial<EvaluationRequest> = {},
) => evaluated(decisions, request, 'review', others);

const idOf = (offset: number, reset = '') => `${TOPICS.source}-0-${offset}${reset}`;

test('two pipelines are compared by event, and both with the expected results', async () => {
  const { report, text } = await against(
    [
      { id: idOf(0), result: 'spam', expected: 'spam' },
      { id: idOf(1), result: 'ham', expected: 'spam' },
      { id: idOf(2), result: 'ham', expected: 'ham' },
      { id: idOf(3), result: 'ham' },
      { id: idOf(4), result: 'spam', expected: 'ham' },
      { id: idOf(5), status: 'ERROR' },
      { id: idOf(6), expected: 'ham' },
    ],
    [
      { id: idOf(4), result: 'ham' },
      { id: idOf(3), result: 'ham', expected: 'spam', type: 'other' },
      { id: idOf(2), result: 'spam', expected: 'ham' },
      { id: idOf(1), result: 'spam', expected: 'spam' },
      { id: idOf(6), result: 'spam', expected: 'spam' },
      { id: idOf(7), result: 'spam', expected: 'spam' },
      { id: idOf(8) },
      { value: 'not json' },
      { status: 'ERROR', id: idOf(0) },
    ],
  );
  assert.equal(
    text,
    `RESULT   SUPPORT   DECIDED   PRECISION   RECALL       F1
ham            2         3      33.3 %   50.0 %   40.0 %
spam           2         1       0.0 %    0.0 %    0.0 %

AGAINST   DECIDED   COUNT   EXAMPLES
spam      ham           2   content-0-1 content-0-2
ham       ham           1
ham       spam          1   content-0-4

25.0 % of 4 decisions agree with draft.
Of 3 events with an expected result, reviews returned that result for 33.3 %, and draft for 66.7 %.
Topic decisions, 1970-01-01T00:00:00.000Z to now.
Not evaluated:
  1 without a result of draft
  1 with status ERROR
  1 without a result
  2 of draft without a result of reviews
  1 of draft with status ERROR
  1 of draft without a result
  1 of draft unreadable
`,
  );
  const counts = { errors: 1, unreadable: 1, withoutResult: 1, unpaired: 2 };
  const labels = { withExpected: 3, correct: 2, evaluatedCorrect: 1 };
  const other = { pipeline: 'draft', topic: 'draft-decisions' };
  assert.deepEqual(report.against, { ...other, ...counts, ...labels });
});

test('decisions after a reset of one group belong to the same event, and the last decision of the other pipeline counts', async () => {
  const { report } = await against(
    [
      { id: idOf(0, '#2'), result: 'a' },
      { id: idOf(1), result: 'a' },
      { id: idOf(1, '#2'), result: 'b' },
    ],
    [
      { id: idOf(0), result: 'b' },
      { id: idOf(0, '#1'), result: 'a' },
      { id: idOf(1), result: 'b' },
    ],
  );
  assert.deepEqual([report.evaluated, report.agreeing, report.against?.unpaired], [3, 2, 0]);
});

test('a type and a label select decisions of the first pipeline only, and a time range selects from both pipelines', async () => {
  const decisions = Array.from({ length: 4 }, (_, at) => ({ id: idOf(at), result: 'a' }));
  const chosen = decisions.map((one, at) => ({ ...one, type: at === 0 ? 'comment' : 'post' }));
  const counts = async (request: Partial<EvaluationRequest>) => {
    const { report } = await against(chosen, decisions, request);
    return [report.evaluated, report.withoutExpected, report.against?.unpaired];
  };
  assert.deepEqual(await counts({ type: 'comment' }), [1, 0, 3]);
  assert.deepEqual(await counts({ fromMs: 1_001, toMs: 1_003 }), [2, 0, 0]);
});

test('results beyond the limit never agree, and examples are bounded', async () => {
  const results = Array.from({ length: 120 }, (_, n) => ({ id: idOf(n), result: `class ${n}` }));
  const { report } = await against(results, results);
  assert.equal(report.agreeing, MAX_CLASSES);
  const cell = report.matrix.find(({ expected }) => expected === null);
  assert.deepEqual([cell?.result, cell?.count], [null, 70]);
  const last = Array.from({ length: 10 }, (_, n) => idOf(110 + n));
  assert.deepEqual(cell?.examples, last);
});

test('without pairs there are no figures', async () => {
  const { report, text } = await against([{ result: 'a' }], []);
  assert.equal(report.agreement, null);
  assert.match(text, /^No decision has a result of draft\. Use --from to extend the period\.$/m);
});

test('only pipelines with the same source and different outputs are compared', async () => {
  const world = new World({ partitions: 1 });
  const inspection = inspectionOf(world, { pipeline: { kind: 'review' } });
  const { topics } = inspection.pipeline;
  for (const other of [topics, { ...topics, source: 'other', decisions: 'draft-decisions' }]) {
    const request = { fromMs: 0, against: { ...inspection.pipeline, topics: other } };
    await assert.rejects(world.through(evaluate(inspection, request)), (error) => {
      assert.ok(error instanceof InspectError);
      assert.match(error.message, /same source topic and another output topic/);
      return error.failure === 'usage';
    });
  }
});

test('a comparison whose results do not fit into memory is refused with the remedy', async () => {
  const world = new World({ partitions: 1 });
  const inspection = inspectionOf(world, { pipeline: { kind: 'review' } });
  world.kafka.cluster.createTopic('draft-decisions', 1);
  write(world, 'draft-decisions', [{ result: 'a' }]);
  const topics = { ...inspection.pipeline.topics, decisions: 'draft-decisions' };
  const request = { fromMs: 0, against: { ...inspection.pipeline, name: 'draft', topics } };
  const compared = (maxHeldBytes: number) =>
    world.through(evaluate(inspection, request, undefined, maxHeldBytes));
  assert.equal((await compared(1_000)).against?.unpaired, 1);
  await assert.rejects(compared(10), /decisions of draft exceed .* choose a shorter time/);
});

test('only reviews are evaluated', async () => {
  await assert.rejects(evaluated([], {}, 'import'), (error) => {
    assert.ok(error instanceof InspectError);
    assert.match(error.message, /only the decisions of reviews/);
    return error.failure === 'usage';
  });
});

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { evaluationText } from '../../../../src/cli/commands/evaluate.ts';
import { printableLines } from '../../../../src/cli/text.ts';
import type { RecordHeaders } from '../../../../src/core/record.ts';
import { codecOf } from '../../../../src/events/formats/output/contract.ts';
import { type EvaluationRequest, evaluate } from '../../../../src/tools/evaluate/evaluate.ts';
import { evaluatedDecision } from '../../../../src/tools/evaluate/evaluated-decision.ts';
import { inspectionOf } from '../../../support/engine/inspection.ts';
import { TOPICS, World } from '../../../support/engine/world.ts';

interface Written {
  readonly expected?: unknown;
  readonly result?: unknown;
  readonly status?: string;
  readonly type?: string;
  readonly labels?: unknown;
  /** Offset of its event. */
  readonly event?: number;
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
    const { expected = null, result = null, status = 'SUCCESS', type = 'post', event = at } = one;
    const labels = one.labels ?? [];
    const value =
      one.value ??
      JSON.stringify({ status, result, expected_result: expected, labels, batch: { type } });
    const headers: RecordHeaders = [['event-id', one.id ?? `${TOPICS.source}-0-${event}`]];
    const record = { key: null, value: Buffer.from(value), headers, timestampMs: 1_000 + at };
    world.kafka.cluster.produce('decisions', 0, [record]);
  }
  const notices: string[] = [];
  const inspection = {
    ...inspectionOf(world, { pipeline: { kind } }),
    notice: (text: string) => notices.push(text),
    readFramed: async (framed: Buffer) => {
      await setImmediate();
      if (framed[4] !== 7) return undefined;
      return { status: 'SUCCESS', result: 'a', expected_result: 'a', batch: { type: 'post' } };
    },
  };
  const report = await world.through(evaluate(inspection, { fromMs: 0, ...request }));
  const text = printableLines(evaluationText(report));
  return { report, text, notices };
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

test('decisions with an expected result are evaluated, and the others counted apart', async () => {
  const { report, text } = await evaluated(SAMPLE);
  const { overall, types, labels } = report;
  assert.deepEqual([overall.evaluated, overall.agreeing], [5, 3]);
  assert.deepEqual(
    types.map(({ type, evaluated, agreeing }) => [type, evaluated, agreeing]),
    [
      ['post', 3, 2],
      ['comment', 2, 1],
    ],
  );
  assert.deepEqual(
    labels.map(({ label, evaluated, agreeing }) => [label, evaluated, agreeing]),
    [
      ['free', 3, 2],
      ['prize', 1, 1],
    ],
    'a label that does not apply counts nothing, and one that is there twice counts once',
  );
  assert.equal(
    text,
    `RESULT     SUPPORT   DECIDED   PRECISION   RECALL       F1
rejected         3         3      66.7 %   66.7 %   66.7 %
approved         2         2      50.0 %   50.0 %   50.0 %
(all)            5         5      60.0 %   60.0 %   60.0 %

EXPECTED \\ DECIDED   rejected   approved
rejected                    2          1
approved                    1          1

TYPE      RESULT     SUPPORT   DECIDED   PRECISION   RECALL       F1
post      rejected         3         2     100.0 %   66.7 %   80.0 %
post      approved         0         1       0.0 %        -    0.0 %
post      (all)            3         3      66.7 %   66.7 %   66.7 %
comment   approved         2         1     100.0 %   50.0 %   66.7 %
comment   rejected         0         1       0.0 %        -    0.0 %
comment   (all)            2         2      50.0 %   50.0 %   50.0 %

LABEL   RESULT     SUPPORT   DECIDED   PRECISION    RECALL        F1
free    rejected         2         3      66.7 %   100.0 %    80.0 %
free    approved         1         0           -     0.0 %     0.0 %
free    (all)            3         3      66.7 %    66.7 %    66.7 %
prize   rejected         1         1     100.0 %   100.0 %   100.0 %
prize   (all)            1         1     100.0 %   100.0 %   100.0 %

60.0 % of 5 decisions agree with the expected result.
Topic decisions, 1970-01-01T00:00:00.000Z to now.
Not evaluated:
  2 without an expected result
  1 with status ERROR
  1 without a result
`,
  );
});

test('a type, a label and a time choose the decisions', async () => {
  const counts = async (request: Partial<EvaluationRequest>) => {
    const { report } = await evaluated(SAMPLE, request);
    return [report.overall.evaluated, report.withoutExpected, report.errors];
  };
  assert.deepEqual(await counts({ type: 'comment' }), [2, 0, 0]);
  assert.deepEqual(await counts({ label: 'free' }), [3, 0, 0]);
  assert.deepEqual(await counts({ label: 'free', type: 'comment' }), [1, 0, 0]);
  assert.deepEqual(await counts({ fromMs: 1_003, toMs: 1_006 }), [2, 1, 0]);
  assert.deepEqual(await counts({ type: 'none' }), [0, 0, 0]);
});

test('an event that was decided again counts once, by its newest decision', async () => {
  const spam = { expected: 'spam', result: 'spam' };
  const { report, notices } = await evaluated([
    { ...spam, event: 0, id: `${TOPICS.source}-0-0` },
    { ...spam, event: 0, id: `${TOPICS.source}-0-0` },
    { ...spam, id: `${TOPICS.source}-0-1#2` },
    { expected: 'spam', result: 'ham', id: `${TOPICS.source}-0-0#1` },
    { expected: 'spam', result: 'ham', id: `${TOPICS.source}-0-1` },
    { ...spam, event: 2 },
  ]);
  const { overall, superseded } = report;
  assert.deepEqual([overall.evaluated, overall.agreeing, superseded], [3, 2, 3]);
  assert.equal(notices.length, 1);
  assert.equal((await evaluated(SAMPLE)).notices.length, 0, 'one reading is enough');
});

test('decisions in a format with a schema are read by their schema', async () => {
  const { report } = await evaluated([
    { expected: 'a', result: 'b' },
    { value: '\0\0\0\0\u0007schema' },
    { value: '\0\0\0\0\u0008unknown' },
  ]);
  assert.deepEqual(
    [report.overall.evaluated, report.overall.agreeing, report.unreadable],
    [2, 1, 1],
  );
});

test('a decision has the same members in every output format', () => {
  const json = readFileSync(
    new URL('../../../../contracts/examples/decision.json', import.meta.url),
    'utf8',
  );
  const members = evaluatedDecision(JSON.parse(json));
  assert.deepEqual([members?.expected, [...(members?.labels ?? [])]], ['spam', ['scam']]);
  for (const format of ['avro', 'protobuf', 'json-schema'] as const) {
    const codec = codecOf('decision', format);
    assert.deepEqual(
      evaluatedDecision(codec.decode(Buffer.from(codec.encode(json)))),
      members,
      format,
    );
  }
});

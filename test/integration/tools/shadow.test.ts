/**
 * A draft policy on a sample of live traffic: two pipelines over the e-mails of the demo, whose
 * decisions `evaluate --against` compares. The figures are checked against the decisions as
 * consumers read them, paired by their metadata, and against the labels of the corpus.
 */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { readEmails } from '../../../dev/demo/corpus.ts';
import { nextEvents } from '../../../dev/demo/events.ts';
import { EXIT } from '../../../packages/client/src/cli/exit-codes.ts';
import { readPolicyFile } from '../../../packages/sandbox/src/policy.ts';
import type { AuditReport } from '../../../src/tools/inspect/audit.ts';
import type { EvaluationReport } from '../../../src/tools/inspect/evaluate.ts';
import { eventually } from '../../support/eventually.ts';
import { testKafka } from '../../support/kafka/kafka.ts';
import { startStack } from '../../support/stack/stack.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { tool, toolJson } from './tool.ts';

const POLICY = fileURLToPath(new URL('../../../config/sandbox-policy.yaml', import.meta.url));
const MAILS = 300;

/** Returns the demo's rules for the mails, and the same rules without one of them for the draft. */
async function policyOf(without: string) {
  const { review } = await readPolicyFile(POLICY);
  const rules = review?.rules ?? [];
  const drafted = rules
    .filter(({ label }) => label !== without)
    .map(({ when, score, result }) => ({ when: { ...when, type: 'draft' }, score, result }));
  const live = rules.map((rule) => ({
    ...rule,
    when: { ...rule.when, type: ['email', 'mailing-list'] },
  }));
  return { review: { ...review, rules: [...live, ...drafted] } };
}

/** True if a sample of 50 % contains the key, computed independently of the connector's code. */
const isInSample = (key: string) => createHash('sha256').update(key).digest('hex') < '8';

const kafka = await testKafka();
const topic = await kafka.createTopic('mails', { partitions: 3 });
const timing = { batch: { maxRows: 50, maxAge: '200ms' }, review: { poll: '200ms' } };
const mapping = { type: { constant: 'draft' } };
const stack = await startStack(kafka, temporaryDirectory(), {
  partitions: 1,
  pipeline: { name: 'live', source: { topic }, ...timing },
  beside: [
    {
      partitions: 1,
      pipeline: { name: 'draft', source: { topic, sample: '50 %', mapping }, ...timing },
    },
  ],
  policy: await policyOf('html_only'),
});
after(() => stack.stop());
const flags = ['--config', stack.configFile];

const mails = await nextEvents(readEmails(), MAILS);
const poison = Array.from({ length: 20 }, (_, n) => ({ key: `poison-${n}`, value: 'not JSON' }));
await kafka.write(topic, [...mails, ...poison]);
const sampled = (records: readonly { readonly key: string | null }[]) =>
  records.filter(({ key }) => isInSample(String(key))).length;

const [live, draft] = stack.pipelines;
assert.ok(live !== undefined && draft !== undefined);
const replica = await stack.startReplica();
await eventually('every record is settled', async () => {
  const counts = await Promise.all(
    [live, draft].flatMap(({ topics }) => [
      kafka.readAll(topics.decisions),
      kafka.readAll(topics.deadLetters),
    ]),
  );
  const expected = [MAILS, poison.length, sampled(mails), sampled(poison)];
  return counts.every(({ length }, at) => length >= (expected[at] ?? 0));
});

test('the second pipeline reviews its sample, and audit and metrics count the rest as skipped', async () => {
  const keys = (await kafka.readAll(draft.topics.decisions)).map(({ key }) => String(key));
  assert.equal(keys.length, sampled(mails));
  assert.ok(keys.every(isInSample));
  assert.equal((await kafka.readAll(draft.topics.deadLetters)).length, sampled(poison));

  const skipped = MAILS + poison.length - sampled(mails) - sampled(poison);
  const report = await toolJson<AuditReport>('audit', '--pipeline', 'draft', ...flags);
  assert.deepEqual(
    [report.code, report.verdict, report.totals.skipped],
    [EXIT.ok, 'balanced', skipped],
  );
  const labels = { pipeline: 'draft', reason: 'sample' };
  assert.equal(await replica.metric('events_skipped_total', labels), skipped);
});

test('evaluate --against prints the difference of the two policies', async () => {
  const resultsOf = async (of: string) => {
    const records = await kafka.readAll(of);
    return new Map(
      records.map(({ value }) => {
        const { metadata, result, id } = JSON.parse(String(value));
        const { group, id: mail } = metadata.message;
        return [`${group}/${mail}`, { result: String(result), id: String(id) }];
      }),
    );
  };
  const lives = await resultsOf(live.topics.decisions);
  const labels = new Map(
    mails.map(({ key, expected }) => [key, 'result' in expected ? expected.result : '']),
  );
  const cells = new Map<string, { count: number; ids: string[] }>();
  const drafts = await resultsOf(draft.topics.decisions);
  const correct = { live: 0, draft: 0 };
  for (const [mail, { result, id }] of drafts) {
    const other = lives.get(mail)?.result;
    const cell = cells.get(`${other} ${result}`) ?? { count: 0, ids: [] };
    cells.set(`${other} ${result}`, { count: cell.count + 1, ids: [...cell.ids, id] });
    if (labels.get(mail) === other) correct.live++;
    if (labels.get(mail) === result) correct.draft++;
  }
  const agreeing = (cells.get('ham ham')?.count ?? 0) + (cells.get('spam spam')?.count ?? 0);
  assert.ok(agreeing < drafts.size && correct.live > correct.draft, 'the policies differ');

  const args = ['evaluate', 'draft', '--against', 'live', ...flags];
  const report = await toolJson<EvaluationReport>(...args);
  assert.equal(report.code, EXIT.ok);
  assert.deepEqual(
    [report.evaluated, report.agreeing, report.withoutExpected],
    [drafts.size, agreeing, 0],
  );
  assert.deepEqual(
    Object.fromEntries(
      report.matrix.map(({ expected, result, count }) => [`${expected} ${result}`, count]),
    ),
    Object.fromEntries([...cells].map(([name, { count }]) => [name, count])),
  );
  for (const { expected, result, count, examples } of report.matrix) {
    assert.equal(examples.length, expected === result ? 0 : Math.min(count, 10));
    for (const id of examples) assert.ok(cells.get(`${expected} ${result}`)?.ids.includes(id));
  }
  assert.deepEqual(report.against, {
    ...{ pipeline: 'live', topic: live.topics.decisions, unpaired: MAILS - drafts.size },
    ...{ errors: 0, withoutResult: 0, unreadable: 0, withExpected: drafts.size },
    ...{ correct: correct.live, evaluatedCorrect: correct.draft },
  });

  const { out, err } = await tool(...args);
  assert.equal(err, '');
  const share = (count: number) => `${((100 * count) / drafts.size).toFixed(1)} %`;
  assert.ok(
    out.includes(
      `${share(agreeing)} of ${drafts.size} decisions agree with live.
Of ${drafts.size} events with an expected result, draft returned that result for ${share(correct.draft)}, and live for ${share(correct.live)}.
`,
    ),
    out,
  );
});

test('an unknown pipeline and a comparison of a pipeline with itself are refused', async () => {
  for (const [other, problem] of [
    ['drafts', /drafts/],
    ['draft', /cannot be compared: --against requires a pipeline with .* another output topic/],
  ] as const) {
    const { code, err } = await tool('evaluate', 'draft', '--against', other, ...flags);
    assert.equal(code, EXIT.usage);
    assert.match(err, problem);
  }
});

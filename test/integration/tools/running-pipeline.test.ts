/** Tests of `explain` and `audit` while a real connector runs. */
import assert from 'node:assert/strict';
import path from 'node:path';
import { after, test } from 'node:test';
import { EXIT } from '../../../packages/client/src/cli/exit-codes.ts';
import type { AuditReport } from '../../../src/tools/inspect/audit.ts';
import type { Explanation, SearchReport } from '../../../src/tools/inspect/explain.ts';
import { eventually } from '../../support/eventually.ts';
import { testKafka } from '../../support/kafka/kafka.ts';
import { startStack } from '../../support/stack/stack.ts';
import { TerminalRecords } from '../../support/stack/terminal-records.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { tool, toolJson } from './tool.ts';

const SECRET = 'nobody-may-see-this';
const event = (type: string, n: number) =>
  JSON.stringify({
    ...{ type, content: `${SECRET} ${n}`, metadata: { note: SECRET } },
    ...(n % 2 === 0 && { expected_result: n % 3 === 0 ? 'rejected' : 'approved' }),
  });

const kafka = await testKafka();
const stack = await startStack(kafka, temporaryDirectory(), {
  partitions: 2,
  pipeline: {
    batch: { maxRows: 20, maxAge: '200ms' },
    review: { poll: '200ms' },
  },
  policy: {
    faults: [{ operation: 'review', action: 'stuck', match: { type: 'slow' }, times: 'always' }],
  },
});
after(() => stack.stop());
const flags = ['--config', stack.configFile];

const fast = await kafka.write(
  stack.topics.source,
  Array.from({ length: 60 }, (_, n) => ({
    partition: n % 2,
    key: `${SECRET}-${n}`,
    value: event('fast', n),
  })),
);
const [aborted] = await kafka.writeTransaction(
  stack.topics.source,
  [{ partition: 0, value: event('fast', 0) }],
  'abort',
);
const [poison] = await kafka.write(stack.topics.source, [
  { partition: 1, key: 'p', value: `${SECRET} is not json` },
]);
const slow = await kafka.write(
  stack.topics.source,
  Array.from({ length: 6 }, (_, n) => ({ partition: n % 2, value: event('slow', n) })),
);
const replica = await stack.startReplica();
const terminals = new TerminalRecords(kafka, stack);
await terminals.untilCount(61);
await eventually('the slow records are in review', async () => {
  const { totals } = await toolJson<AuditReport>('audit', ...flags);
  return totals.live === 6;
});

const at = (place: { readonly partition: number; readonly offset: number } | undefined) =>
  `${place?.partition}:${place?.offset}`;
const explained = (place: Parameters<typeof at>[0]) =>
  toolJson<Explanation>('explain', at(place), ...flags);
const searched = (...args: string[]) => toolJson<SearchReport>('explain', ...flags, ...args);

test('audit shows the shards with their owner and oldest batch', async () => {
  const report = await toolJson<AuditReport & { readonly pipeline: string }>('audit', ...flags);
  assert.deepEqual(
    [report.code, report.pipeline, report.verdict],
    [EXIT.ok, 'reviews', 'balanced'],
  );
  assert.deepEqual(
    report.shards.map(({ shard }) => shard),
    [0, 1],
  );
  for (const { owner, jobs } of report.shards) {
    assert.ok(owner !== null && Date.now() - owner.atMs < 600_000);
    for (const job of jobs) assert.equal(job.type, 'slow');
  }
  const { out } = await tool('audit', ...flags);
  assert.match(out, /^SHARD +OWNER +SEEN +LIVE +LEFT +OLDEST BATCH +AGE$/m);
});

test('an audit with a position file starts where the last audit ended', async () => {
  const file = path.join(temporaryDirectory(), 'position');
  const ranges = async () => {
    const report = await toolJson<AuditReport>(
      ...['audit', ...flags, '--since', '1h', '--position', file],
    );
    assert.equal(report.code, EXIT.ok);
    return report.partitions;
  };
  const first = await ranges();
  assert.deepEqual(
    first.map(({ from }) => from),
    [0, 0],
  );
  const second = await ranges();
  assert.deepEqual(
    second.map(({ from }) => from),
    first.map(({ settledTo }) => settledTo),
  );
  assert.ok(second.every(({ from }) => from > 0));
  const wrong = await tool('audit', ...flags, '--position', stack.configFile);
  assert.equal(wrong.code, EXIT.usage);
  assert.match(wrong.err, /is not the position of an audit of pipeline reviews and topic /);
});

test('explain distinguishes a decision, a dead letter, a live job and an offset without a record, and shows no content', async () => {
  const decided = await explained(fast[7]);
  assert.equal(decided.state, 'decided');
  const [terminal] = decided.terminals;
  const published = terminals.one(fast[7] as (typeof fast)[number]);
  assert.deepEqual(
    [terminal?.partition, terminal?.offset, terminal?.eventId, terminal?.decision?.batch?.id],
    [
      published.record.partition,
      published.record.offset,
      published.eventId,
      published.decision?.batch.id,
    ],
  );
  assert.equal(decided.job, null);

  const letter = await explained(poison);
  assert.deepEqual(
    [letter.state, letter.terminals[0]?.deadLetter?.reason, letter.job],
    ['deadLettered', 'not_json', null],
  );

  const live = await explained(slow[0]);
  assert.deepEqual([live.state, live.job?.type, live.terminals], ['live', 'slow', []]);

  assert.equal((await explained(aborted)).state, 'noRecord');

  for (const place of [fast[7], poison, slow[0], aborted]) {
    const { out, err, code } = await tool('explain', at(place), ...flags);
    assert.deepEqual([code, err], [EXIT.ok, '']);
    assert.doesNotMatch(out, new RegExp(SECRET));
  }
});

test('the tools change neither group nor owners nor journal', async () => {
  const owners = async () => {
    const { shards } = await toolJson<AuditReport>('audit', ...flags);
    return shards.map(({ owner }) => owner?.instance);
  };
  const before = await owners();
  const rebalances = await replica.metric('rebalances_total');
  for (const args of [['explain', at(fast[0])], ['audit'], ['dead-letters', 'list']]) {
    assert.equal((await tool(...args, ...flags)).code, EXIT.ok);
  }
  assert.equal(await replica.metric('rebalances_total'), rebalances);
  assert.deepEqual(await owners(), before);
  const { groups } = await (await kafka.admin()).listGroups();
  assert.deepEqual(
    groups
      .map(({ groupId }) => groupId)
      .filter((id) => id.includes('never-joined') || id.includes('tools')),
    [],
  );
});

test('without a connector, waiting records are shown as waiting, and a duplicated decision is found', async () => {
  for (const { process } of stack.replicas) process.kill('SIGKILL');
  await Promise.all(stack.replicas.map(({ process }) => process.exited));
  const [waiting] = await kafka.write(stack.topics.source, [
    { partition: 0, key: 'q', value: event('fast', 47111) },
    { partition: 0, key: 'q', value: event('fast', 47112) },
  ]);
  assert.ok(waiting !== undefined);
  assert.equal((await explained(waiting)).state, 'waiting');

  const copied = terminals.one(fast[3] as (typeof fast)[number]).record;
  await kafka.write(stack.topics.decisions, [
    { partition: copied.partition, key: copied.key, value: copied.value, headers: copied.headers },
  ]);
  const twice = await toolJson<AuditReport>('audit', ...flags);
  assert.equal(twice.code, EXIT.problems);
  const { partition = -1, offset = -1 } = fast[3] ?? {};
  assert.deepEqual(twice.partitions[partition]?.doubleOffsets, [[offset, offset]]);

  const { out } = await tool('audit', ...flags);
  assert.match(out, new RegExp(`^Double: ${partition}:${offset}$`, 'm'));
  const worst = await searched('--key', 'q');
  assert.deepEqual([worst.code, worst.matching], [EXIT.ok, 2]);
});

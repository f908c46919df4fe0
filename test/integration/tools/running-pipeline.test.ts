/** journal, explain and audit while a connector is running. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { EXIT } from '../../../packages/client/src/cli/exit-codes.ts';
import type { AuditReport } from '../../../src/tools/inspect/audit.ts';
import type { Explanation, SearchReport } from '../../../src/tools/inspect/explain.ts';
import type { JournalReport } from '../../../src/tools/inspect/journal-report.ts';
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
await eventually('the slow batches are in review', async () => {
  const { jobs } = await toolJson<JournalReport>('journal', ...flags);
  return jobs.reduce((sum, job) => sum + job.left, 0) === 6;
});

const at = (place: { readonly partition: number; readonly offset: number } | undefined) =>
  `${place?.partition}:${place?.offset}`;
const explained = (place: Parameters<typeof at>[0]) =>
  toolJson<Explanation>('explain', at(place), ...flags);
const searched = (...args: string[]) => toolJson<SearchReport>('explain', ...flags, ...args);

test('journal shows shards, positions and live jobs', async () => {
  // Journal and group are read one after the other, so progress may occur in between.
  const report = await eventually('the group has committed what the journal has', async () => {
    const one = await toolJson<JournalReport & { readonly pipeline: string }>('journal', ...flags);
    const places = one.shards.flatMap(({ partitions }) => partitions);
    return places.every(({ watermark, committed }) => watermark === committed) && one;
  });
  assert.equal(report.code, EXIT.ok);
  assert.equal(report.pipeline, 'reviews');
  assert.deepEqual(report.group, { id: stack.group, state: 'Stable', members: 1 });
  assert.deepEqual(
    report.shards.map(({ shard, partitions }) => [
      shard,
      partitions.map(({ partition }) => partition),
    ]),
    [
      [0, [0]],
      [1, [1]],
    ],
  );
  for (const { owner, partitions } of report.shards) {
    assert.ok(owner !== null && Date.now() - owner.atMs < 600_000);
    for (const { resetPending } of partitions) assert.equal(resetPending, false);
  }
  for (const job of report.jobs) assert.equal(job.type, 'slow');
  const { out, code } = await tool('journal', ...flags);
  assert.equal(code, EXIT.ok);
  assert.match(out, /^Group group-\w+: Stable, 1 replica\. \d live jobs?\.$/m);
  assert.match(out, /^SHARD +OWNER +SEEN +PARTITION +W +COMMITTED/m);
  assert.match(out, /^BATCH +SHARD +TYPE +LEFT +ROWS/m);
});

test('explain distinguishes a decision, a dead letter, a live job and an offset without a record, and shows no content', async () => {
  const decided = await explained(fast[7]);
  assert.equal(decided.state, 'decided');
  const [terminal] = decided.terminals;
  const published = terminals.one(fast[7] as (typeof fast)[number]);
  assert.deepEqual(
    [terminal?.partition, terminal?.offset, terminal?.eventId, terminal?.decision?.batch.id],
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

test('the tools change neither the group nor owners nor the journal', async () => {
  // The remaining replica takes over from the one that has just ended.
  const settled = async () => {
    const report = await toolJson<JournalReport>('journal', ...flags);
    const owners = new Set(report.shards.map(({ owner }) => owner?.instance));
    return report.group.state === 'Stable' && report.group.members === 1 && owners.size === 1
      ? report
      : undefined;
  };
  const before = await eventually('one replica owns all', settled, { deadlineMs: 60_000 });
  const rebalances = await replica.metric('rebalances_total');
  for (const args of [['journal'], ['explain', at(fast[0])], ['audit'], ['dead-letters', 'list']]) {
    assert.equal((await tool(...args, ...flags)).code, EXIT.ok);
  }
  const afterwards = await toolJson<JournalReport>('journal', ...flags);
  assert.equal(await replica.metric('rebalances_total'), rebalances);
  assert.deepEqual(afterwards.group, before.group);
  const instances = ({ shards }: JournalReport) => shards.map(({ owner }) => owner?.instance);
  assert.deepEqual(instances(afterwards), instances(before));
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

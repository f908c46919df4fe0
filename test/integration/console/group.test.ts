/** Console of real connectors against a real broker: the shards of the whole group. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import type { ConsoleState } from '../../../src/telemetry/console/state.ts';
import { eventually } from '../../support/eventually.ts';
import { testKafka } from '../../support/kafka/kafka.ts';
import { startStack } from '../../support/stack/stack.ts';
import { TerminalRecords } from '../../support/stack/terminal-records.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const kafka = await testKafka();
const stack = await startStack(kafka, temporaryDirectory(), {
  partitions: 2,
  pipeline: { batch: { maxRows: 50, maxAge: '100ms' }, review: { poll: { initial: '50ms' } } },
});
after(() => stack.stop());
await kafka.write(
  stack.topics.source,
  Array.from({ length: 100 }, (_, n) => ({
    partition: n % 2,
    value: JSON.stringify({ type: 'post', content: `post ${n}` }),
  })),
);
const replica = await stack.startReplica();
const terminals = new TerminalRecords(kafka, stack);
await terminals.untilCount(100);
const url = await replica.url();

/** Nice values of the threads of the replica. */
const priorities = () =>
  readdirSync(`/proc/${replica.process.pid}/task`).flatMap((thread) => {
    try {
      const stat = readFileSync(`/proc/${replica.process.pid}/task/${thread}/stat`, 'utf8');
      return [Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16])];
    } catch {
      return [];
    }
  });

test('the console of one replica shows the shards of all, read in a thread with the lowest priority', async () => {
  const other = await stack.startReplica();
  const stateOf = async (at: string) =>
    ((await (await fetch(`${at}/api/state`)).json()) as ConsoleState).detail;
  const otherUrl = await other.url();
  const owned = await eventually('each replica owns shards', async () => {
    const views = await Promise.all([stateOf(url), stateOf(otherUrl)]);
    return (
      views.every(({ shards }) => shards.some(({ state }) => state === 'owner')) &&
      views.every(({ shards }) => shards.every(({ state }) => state === 'owner')) &&
      views
    );
  });
  const ofGroup = async () => {
    const answer = await fetch(`${url}/api/state?group`);
    const { group, nowMs } = (await answer.json()) as ConsoleState;
    assert.ok(group !== null);
    return { nowMs, ...group };
  };
  const first = await ofGroup();
  assert.deepEqual([first.report, first.problem], [null, null]);
  // The thread may end before it is seen: then a later request starts another.
  const seen = async () => {
    await ofGroup();
    return priorities().includes(19);
  };
  await eventually('it is read in the background', seen, { everyMs: 5 });
  const { report, atMs, nowMs, problem } = await eventually('the journal was read', async () => {
    const view = await ofGroup();
    return (view.report !== null || view.problem !== null) && view;
  });
  assert.equal(problem, null);
  assert.ok(nowMs - (atMs ?? 0) < 10_000);
  assert.deepEqual([report?.state, report?.members], ['Stable', 2]);
  const expected = owned.flatMap(({ shards, instance }) =>
    shards.map(({ shard }) => ({ shard, instance })),
  );
  assert.deepEqual(
    report?.shards.map(({ shard, instance }) => ({ shard, instance })),
    expected.toSorted((a, b) => a.shard - b.shard),
  );
  for (const { watermarks, writtenMs, lag, jobs } of report?.shards ?? []) {
    assert.ok(watermarks.every(({ watermark }) => (watermark ?? 0) > 0));
    assert.deepEqual([lag, jobs], [0, 0]);
    assert.ok((writtenMs ?? 0) > nowMs - 600_000);
  }
  await eventually('the thread has ended', () => !priorities().includes(19));
});

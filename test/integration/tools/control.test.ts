/** pause, drain and resume beside real replicas. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { EXIT } from '../../../src/cli/exit-codes.ts';
import type { ControlReport } from '../../../src/tools/inspect/control.ts';
import type { JournalReport } from '../../../src/tools/inspect/journal-report.ts';
import { eventually } from '../../support/eventually.ts';
import { testKafka } from '../../support/kafka/kafka.ts';
import { startStack } from '../../support/stack/stack.ts';
import { sandboxBatches, setFaults } from '../../support/stack/stack-control.ts';
import { TerminalRecords } from '../../support/stack/terminal-records.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { tool, toolJson } from './tool.ts';

const SHARDS = 4;
const kafka = await testKafka();
const stack = await startStack(kafka, temporaryDirectory(), {
  partitions: SHARDS,
  pipeline: {
    batch: { maxRows: 5, maxAge: '100ms' },
    review: { poll: { initial: '50ms', max: '200ms' } },
  },
  policy: {
    faults: [{ operation: 'get_batch', action: 'state', state: 'PENDING', times: 'always' }],
  },
});
after(() => stack.stop());
const flags = ['--config', stack.configFile];
const given = (command: string, ...more: string[]) =>
  toolJson<ControlReport>(command, 'reviews', ...flags, ...more);
const journal = () => toolJson<JournalReport>('journal', '--no-service', ...flags);
const write = (count: number) =>
  kafka.write(
    stack.topics.source,
    Array.from({ length: count }, (_, n) => ({
      partition: n % SHARDS,
      value: JSON.stringify({ type: 'post', content: `text ${n}`, metadata: { n } }),
    })),
  );

test('a drain of two replicas, one killed on the way, ends with an empty journal; nothing is submitted before a resume', async () => {
  const first = await write(80);
  const [killed] = [await stack.startReplica(), await stack.startReplica()];
  await eventually('both replicas have live batches', async () => {
    const { shards } = await journal();
    const owners = new Set(shards.map(({ owner }) => owner?.instance));
    return owners.size === 2 && shards.every(({ liveJobs }) => liveJobs > 0);
  });
  const draining = given('drain');
  await killed.logged('read a command of the operator');
  killed.process.kill('SIGKILL');
  await setFaults(stack, []);
  const { code, outcome } = await draining;
  assert.deepEqual([code, outcome], [EXIT.ok, 'reached']);
  const drained = await journal();
  assert.deepEqual(drained.jobs, []);
  assert.deepEqual(
    drained.shards.map(({ acknowledged }) => [acknowledged?.revision, acknowledged?.drained]),
    Array.from({ length: SHARDS }, () => [drained.control.revision, true]),
  );
  const terminals = new TerminalRecords(kafka, stack);
  // Of the first records too, intake may have left some in the topic.
  const { totals } = await sandboxBatches(stack);

  const second = await write(20);
  const late = await stack.startReplica();
  await late.logged('owns the shard');
  assert.match(
    (await tool('journal', '--no-service', ...flags)).out,
    /Pipeline draining since .*; 4 of 4 shards drained\./,
  );
  const paused = await given('pause', '--reason', 'a look', '--by', 'ann');
  assert.deepEqual([paused.code, paused.control.hold?.by], [EXIT.ok, 'ann']);
  const readyz = `${await late.url()}/readyz`;
  await eventually('a paused replica is ready', async () => (await fetch(readyz)).ok);
  assert.deepEqual((await sandboxBatches(stack)).totals, totals);
  assert.equal((await given('resume')).code, EXIT.ok);
  await terminals.untilCount(100);
  terminals.assertOnceEach([...first, ...second]);
});

test('wrong arguments are named, and change nothing', async () => {
  const before = (await journal()).control;
  for (const [args, message] of [
    [['pause', 'review'], /did you mean reviews/],
    [['pause', 'reviews', '--reason', ''], /A reason has 1 to 500 characters/],
    [['pause'], /missing required argument 'pipeline'/],
  ] as const) {
    const { code, err } = await tool(...args, ...flags);
    assert.equal(code, EXIT.usage);
    assert.match(err, message);
  }
  assert.deepEqual((await journal()).control, before);
  const { out } = await tool('resume', 'reviews', ...flags);
  assert.match(out, /^Pipeline reviews is resumed, as it was before \(revision \d+\)\.\n$/);
});

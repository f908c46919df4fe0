import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { SourceCoordinate } from '../../../src/core/record.ts';
import { eventually } from '../../support/eventually.ts';
import { testKafka } from '../../support/kafka/kafka.ts';
import {
  type Replica,
  type Stack,
  type StackOptions,
  startStack,
} from '../../support/stack/stack.ts';
import { groupPositions, ownedJobs } from '../../support/stack/stack-control.ts';
import { TerminalRecords } from '../../support/stack/terminal-records.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const directories = Array.from({ length: 2 }, () => temporaryDirectory());
const kafka = await testKafka();

async function begin(
  partitions: number,
  pipeline: NonNullable<StackOptions['pipeline']> = {},
): Promise<Stack> {
  const stack = await startStack(kafka, directories.pop() as string, {
    partitions,
    pipeline: {
      batch: { maxRows: 50, maxAge: '200ms' },
      review: { poll: '500ms' },
      ...pipeline,
    },
  });
  after(() => stack.stop());
  return stack;
}

const events = (count: number, partitions: readonly number[], text = 'text') =>
  Array.from({ length: count }, (_, n) => ({
    partition: partitions[n % partitions.length] as number,
    value: JSON.stringify({ type: 'post', content: `${text} ${n}`, metadata: { n } }),
  }));

async function write(
  stack: Stack,
  ...args: Parameters<typeof events>
): Promise<SourceCoordinate[]> {
  return await kafka.write(stack.topics.source, events(...args));
}

async function end(replica: Replica): Promise<void> {
  const { code } = await replica.process.stop();
  assert.equal(code, 0, replica.lines.slice(-10).join('\n'));
}

/** Waits until the group has committed everything: nothing is left to be read or settled. */
async function untilCommitted(stack: Stack): Promise<void> {
  const committed = async () =>
    (await groupPositions(kafka, stack)).every((at) => at.committed === at.end);
  await eventually('the group has committed everything', committed);
}

test('replicas share the shards, each with all of its source partitions, and move no shard that can stay', async () => {
  const stack = await begin(7, { journal: { partitions: 4 } });
  const replicas = [await stack.startReplica()];
  await eventually(
    'one replica owns all shards',
    () => ownedJobs(replicas[0] as Replica).size === 4,
    { deadlineMs: 30_000 },
  );
  const source = await write(stack, 70, [0, 1, 2, 3, 4, 5, 6]);
  const terminal = new TerminalRecords(kafka, stack);
  await terminal.untilCount(source.length);

  for (const expected of [
    [2, 2],
    [1, 1, 2],
  ]) {
    const before = replicas.map((replica) => new Set(ownedJobs(replica).keys()));
    replicas.push(await stack.startReplica());
    const shares = () => replicas.map((replica) => [...ownedJobs(replica).keys()]);
    const spread = () => {
      const sizes = shares().map((shards) => shards.length);
      return sizes.toSorted().join() === expected.join() && new Set(shares().flat()).size === 4;
    };
    await eventually(`the shards are shared as ${expected}`, spread, { deadlineMs: 30_000 });
    for (const [index, shards] of shares().slice(0, -1).entries()) {
      assert.ok(
        shards.every((shard) => before[index]?.has(shard)),
        `an old replica took a shard over: ${JSON.stringify(shares())}`,
      );
    }
    source.push(...(await write(stack, 70, [0, 1, 2, 3, 4, 5, 6])));
    await terminal.untilCount(source.length);
  }
  terminal.assertOnceEach(source);
  const owned = () => Promise.all(replicas.map((replica) => replica.metric('shards_owned')));
  await eventually(
    'the metrics say the same',
    async () => (await owned()).reduce((sum, count) => sum + count) === 4,
  );
});

test('a source topic that was deleted and created again is refused with exit 4', async () => {
  const stack = await begin(1);
  const admin = await kafka.admin();
  const topic = stack.topics.source;
  const terminal = new TerminalRecords(kafka, stack);
  const source = await write(stack, 20, [0]);
  const replica = await stack.startReplica();
  await terminal.untilCount(source.length);
  await untilCommitted(stack);
  await end(replica);

  await admin.deleteTopics({ topics: [topic] });
  const make = () =>
    admin.createTopics({ waitForLeaders: false, topics: [{ topic, numPartitions: 1 }] });
  await eventually('the topic can be made anew', make);
  await eventually('the new topic can be written to', () => write(stack, 90, [0], 'anew'));
  const refused = await stack.startReplica();
  const { code } = await refused.process.exited;
  const log = refused.lines.join('\n');
  assert.equal(code, 4, log);
  assert.match(
    log,
    /the topic was deleted and created again.* Give the pipeline a new journal topic and a new group/,
  );
  assert.ok(log.includes(topic));
  await terminal.refresh();
  assert.equal(terminal.all.length, source.length, 'nothing of the new topic was published');
});

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { SourceCoordinate } from '../../../src/core/record.ts';
import { eventually } from '../../support/eventually.ts';
import { TestKafka, testKafka } from '../../support/kafka/kafka.ts';
import {
  type Replica,
  type Stack,
  type StackOptions,
  startStack,
} from '../../support/stack/stack.ts';
import { groupPositions, ownedJobs } from '../../support/stack/stack-control.ts';
import { TerminalRecords } from '../../support/stack/terminal-records.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const directories = Array.from({ length: 5 }, () => temporaryDirectory());
const kafka = await testKafka();

async function begin(
  partitions: number,
  pipeline: NonNullable<StackOptions['pipeline']> = {},
): Promise<Stack> {
  const stack = await startStack(kafka, directories.pop() as string, {
    partitions,
    pipeline: {
      batch: { maxRows: 50, maxAge: '200ms' },
      review: { poll: { initial: '50ms', max: '500ms' } },
      kafka: {
        progressInterval: '200ms',
        metadataMaxAge: '1s',
      },
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

/** Runs an operator's command: kafka-consumer-groups --reset-offsets … --execute. */
async function resetOffsets(
  stack: Stack,
  topicPartition: string,
  ...how: readonly string[]
): Promise<void> {
  const args = [
    '--bootstrap-server',
    kafka.brokers[0] as string,
    '--group',
    stack.group,
    '--reset-offsets',
    '--execute',
  ];
  const tool = 'org.apache.kafka.tools.consumer.group.ConsumerGroupCommand';
  await kafka.cluster.tool(tool, [...args, '--topic', topicPartition, ...how]);
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

test('source partitions added while it runs are read from their beginning, in the shards that exist', async () => {
  const stack = await begin(2);
  await stack.startReplica();
  const terminal = new TerminalRecords(kafka, stack);
  const source = await write(stack, 20, [0, 1]);
  await terminal.untilCount(source.length);
  const admin = await kafka.admin();
  await admin.createPartitions({ topicPartitions: [{ topic: stack.topics.source, count: 5 }] });
  const visible = async () =>
    (await admin.fetchTopicMetadata({ topics: [stack.topics.source] })).topics[0]?.partitions
      .length === 5;
  await eventually('the new partitions are there', visible);
  // At once, when the connector can hardly have seen them; the writer in use has not either.
  const another = new TestKafka(kafka.brokers);
  source.push(...(await another.write(stack.topics.source, events(50, [0, 1, 2, 3, 4]))));
  await another.close();
  await terminal.untilCount(source.length);
  terminal.assertOnceEach(source);
  assert.equal(
    (await kafka.readAll(stack.topics.journal)).filter(({ partition }) => partition > 1).length,
    0,
  );
});

test('offsets set back with kafka-consumer-groups are honoured: reviewed again, under event ids that end in #1', async () => {
  const stack = await begin(2);
  const terminal = new TerminalRecords(kafka, stack);
  const source = await write(stack, 40, [0, 1]);
  let replica = await stack.startReplica();
  await terminal.untilCount(source.length);
  await untilCommitted(stack);
  await end(replica);

  await resetOffsets(stack, `${stack.topics.source}:0`, '--to-offset', '5');
  replica = await stack.startReplica();
  await terminal.untilCount(source.length + 15);
  const later = await write(stack, 10, [0, 1]);
  await terminal.untilCount(source.length + 15 + later.length);
  await untilCommitted(stack);
  await end(replica);
  await terminal.refresh();

  const again = source.filter(({ partition, offset }) => partition === 0 && offset >= 5);
  assert.equal(again.length, 15);
  const ids = terminal.all.map(({ eventId }) => eventId).toSorted();
  const id = ({ partition, offset }: SourceCoordinate, suffix = '') =>
    `${stack.topics.source}-${partition}-${offset}${suffix}`;
  const wanted = [
    ...source.map((at) => id(at)),
    ...again.map((at) => id(at, '#1')),
    // The partition's replay counts on; the other one was not reset.
    ...later.map((at) => id(at, at.partition === 0 ? '#1' : '')),
  ];
  assert.deepEqual(ids, wanted.toSorted());
});

test('offsets set forward with kafka-consumer-groups are honoured: skipped and counted', async () => {
  const stack = await begin(2);
  const terminal = new TerminalRecords(kafka, stack);
  const before = await write(stack, 40, [0, 1]);
  let replica = await stack.startReplica();
  await terminal.untilCount(before.length);
  await untilCommitted(stack);
  await end(replica);

  const passed = await write(stack, 60, [0, 1], 'while stopped');
  await resetOffsets(stack, stack.topics.source, '--shift-by', '20');
  replica = await stack.startReplica();
  const read = passed.filter(({ offset }) => offset >= 40);
  await terminal.untilCount(before.length + read.length);
  await untilCommitted(stack);
  await terminal.refresh();
  terminal.assertOnceEach([...before, ...read]);
  assert.equal(await replica.metric('reset_skipped_records_total'), 40);
  assert.equal(await replica.metric('balance_items'), 0);
  assert.ok(terminal.all.slice(before.length).every(({ eventId }) => eventId.endsWith('#1')));
});

test('a source topic that was deleted and created again is refused with exit 4, whether it is shorter or longer than the old one', async () => {
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
  for (const count of [10, 90]) {
    await eventually('the new topic can be written to', () => write(stack, count, [0], 'anew'));
    const refused = await stack.startReplica();
    const { code } = await refused.process.exited;
    const log = refused.lines.join('\n');
    assert.equal(code, 4, log);
    assert.match(
      log,
      /the topic was deleted and created again.* Give the pipeline a new journal topic and a new group/,
    );
    assert.ok(log.includes(topic));
  }
  await terminal.refresh();
  assert.equal(terminal.all.length, source.length, 'nothing of the new topic was published');
});

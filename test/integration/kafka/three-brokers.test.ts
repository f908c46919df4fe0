/** Three brokers, one of them down: partitions with one replica. With three replicas: `npm run chaos -- --brokers 3`. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { SourceCoordinate } from '../../../src/core/record.ts';
import { eventually } from '../../support/eventually.ts';
import { exclusiveKafka } from '../../support/kafka/kafka.ts';
import { type Replica, type StackPipeline, startStack } from '../../support/stack/stack.ts';
import { TerminalRecords } from '../../support/stack/terminal-records.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const PARTITIONS = 3;
const DEADLINE_MS = 90_000;
const QUICK = {
  batch: { maxRows: 8, maxAge: '150ms' },
  review: { poll: '150ms' },
  kafka: { transactionTimeout: '10s' },
};

const directory = temporaryDirectory();
const kafka = await exclusiveKafka({ brokers: 3 });

/** Which partition of a topic with one replica this broker (from 1) leads. */
async function ledBy(broker: number, topic: string): Promise<number> {
  const { topics } = await (await kafka.admin()).fetchTopicMetadata({ topics: [topic] });
  const led = topics[0]?.partitions.filter(({ leader }) => leader === broker) ?? [];
  assert.equal(led.length, 1, `each broker leads one partition of ${topic}`);
  return led[0]?.partitionId as number;
}

test('a partition without a leader stops only itself, of the source or of the journal, and goes on when its broker is back', async () => {
  const alone = { partitions: PARTITIONS, replicationFactor: 1 };
  const source = await kafka.createTopic('content-alone', alone);
  const journalSettings = { 'cleanup.policy': 'compact', 'min.insync.replicas': '2' };
  const journal = await kafka.createTopic('journal-alone', { ...alone, settings: journalSettings });
  const stack = await startStack(kafka, directory, {
    partitions: PARTITIONS,
    pipeline: { ...QUICK, name: 'source-alone', source: { topic: source } },
    beside: [
      {
        partitions: PARTITIONS,
        pipeline: { ...QUICK, name: 'journal-alone', journal: { topic: journal } },
      },
    ],
  });
  after(() => stack.stop());
  const lost = { source: await ledBy(1, source), journal: await ledBy(1, journal) };
  const replicas = stack.replicas;
  const [first, second] = stack.pipelines as [StackPipeline, StackPipeline];
  const pipelines = [
    {
      name: 'source-alone',
      topic: source,
      lost: lost.source,
      terminal: new TerminalRecords(kafka, { topics: first.topics, replicas }),
    },
    {
      name: 'journal-alone',
      topic: second.topics.source,
      lost: lost.journal,
      terminal: new TerminalRecords(kafka, { topics: second.topics, replicas }),
    },
  ];
  const written = new Map<string, SourceCoordinate[]>(pipelines.map(({ name }) => [name, []]));
  const write = async (name: string, topic: string, partitions: readonly number[]) => {
    const records = partitions.map((partition) => ({
      partition,
      key: `k${partition}`,
      value: JSON.stringify({ type: 'post', content: 'text', metadata: {} }),
    }));
    written.get(name)?.push(...(await kafka.write(topic, records)));
  };
  const all = Array.from({ length: PARTITIONS }, (_, partition) => partition);
  const othersAreDecided = async () => {
    for (const { name, topic, lost: without } of pipelines)
      await write(
        name,
        topic,
        all.filter((one) => one !== without),
      );
    for (const { name, terminal } of pipelines)
      await terminal.untilCount(written.get(name)?.length ?? 0, DEADLINE_MS);
  };
  const untilShown = (replica: Replica, labels: Readonly<Record<string, string>>) =>
    eventually(
      `it shows ${JSON.stringify(labels)}`,
      async () => (await replica.metric('shards_paused', labels)) > 0,
      {
        deadlineMs: DEADLINE_MS,
      },
    );

  const owner = await stack.startReplica();
  for (const { name, topic } of pipelines) await write(name, topic, all);
  for (const { terminal } of pipelines) await terminal.untilCount(PARTITIONS, DEADLINE_MS);

  await kafka.cluster.kill(0);
  await othersAreDecided();
  await untilShown(owner, { pipeline: 'source-alone', reason: 'kafka' });

  // Read, and not decided: the journal takes nothing. It comes with the count at the end.
  const waiting = await kafka.write(second.topics.source, [
    {
      partition: lost.journal,
      key: 'w',
      value: JSON.stringify({ type: 'post', content: 'text', metadata: {} }),
    },
  ]);
  await untilShown(owner, { pipeline: 'journal-alone', reason: 'kafka' });
  await othersAreDecided();

  owner.process.kill('SIGKILL');
  await owner.process.exited;
  const heir = await stack.startReplica();
  await othersAreDecided();
  for (const { name, lost: without } of pipelines) {
    await eventually(
      `only the shard of partition ${without} of ${name} waits for its claim`,
      async () => {
        const ready = (await (await fetch(`${await heir.url()}/readyz`)).json()) as {
          conditions: { name: string; reason?: string }[];
        };
        const condition = ready.conditions.find((one) => one.name === `${name}/kafka`);
        return condition?.reason === `claiming shard(s) ${without}`;
      },
    );
  }
  const failed = await heir.logged('lost the shard; claiming it again once the group answers', {
    where: ({ pipeline }) => pipeline === 'journal-alone',
  });
  assert.match(
    String(failed.error),
    new RegExp(`partition ${lost.journal} of topic ${journal} has no leader; start the broker`),
  );

  await kafka.cluster.restart(0);
  written.get('journal-alone')?.push(...waiting);
  for (const { name, topic } of pipelines) await write(name, topic, all);
  for (const { name, terminal } of pipelines) {
    await terminal.untilCount(written.get(name)?.length ?? 0, DEADLINE_MS);
    terminal.assertOnceEach(written.get(name) ?? []);
  }
});

import { after, test } from 'node:test';
import type { SourceCoordinate } from '../../../src/core/record.ts';
import { eventually } from '../../support/eventually.ts';
import { exclusiveKafka } from '../../support/kafka/kafka.ts';
import { startStack } from '../../support/stack/stack.ts';
import { TerminalRecords } from '../../support/stack/terminal-records.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const DEADLINE_MS = 90_000;
/** With the first broker, the source loses partition 0 and the journal partition 1. Partition 2 loses nothing. */
const SOURCE_REPLICAS = [[1], [2], [3]];
const JOURNAL_REPLICAS = [[2], [1], [3]];

const directory = temporaryDirectory();
const kafka = await exclusiveKafka({ brokers: 3 });

test('a partition without a leader stops only itself, of the source or of the journal, and goes on when its broker is back', async () => {
  const source = await kafka.createTopic('content', { replicas: SOURCE_REPLICAS });
  const journal = await kafka.createTopic('journal', {
    replicas: JOURNAL_REPLICAS,
    settings: { 'cleanup.policy': 'compact', 'min.insync.replicas': '2' },
  });
  const stack = await startStack(kafka, directory, {
    partitions: SOURCE_REPLICAS.length,
    pipeline: {
      name: 'posts',
      source: { topic: source },
      journal: { topic: journal },
      batch: { maxRows: 8, maxAge: '150ms' },
      review: { poll: '150ms' },
      kafka: { transactionTimeout: '10s' },
    },
  });
  after(() => stack.stop());
  const terminal = new TerminalRecords(kafka, { topics: stack.topics, replicas: stack.replicas });
  const written: SourceCoordinate[] = [];
  const write = async (partitions: readonly number[]) => {
    const value = JSON.stringify({ type: 'post', content: 'text', metadata: {} });
    written.push(
      ...(await kafka.write(
        source,
        partitions.map((partition) => ({ partition, key: `k${partition}`, value })),
      )),
    );
  };
  const areDecided = async (partitions: readonly number[]) => {
    await write(partitions);
    await terminal.untilCount(written.length, DEADLINE_MS);
  };

  const owner = await stack.startReplica();
  await areDecided([0, 1, 2]);

  await kafka.cluster.kill(0);
  await areDecided([2]);
  // Read, and not decided: the journal takes nothing. It comes with the count at the end.
  const before = written.length;
  await write([1]);
  const waiting = written.splice(before);
  await eventually(
    'the shards of both partitions wait for Kafka',
    async () => (await owner.metric('shards_paused', { reason: 'kafka' })) === 2,
    { deadlineMs: DEADLINE_MS },
  );
  await areDecided([2]);

  owner.process.kill('SIGKILL');
  await owner.process.exited;
  const heir = await stack.startReplica();
  await areDecided([2]);
  await eventually('only those shards wait for their claim', async () => {
    const ready = (await (await fetch(`${await heir.url()}/readyz`)).json()) as {
      conditions: { name: string; reason?: string }[];
    };
    const condition = ready.conditions.find(({ name }) => name === 'posts/kafka');
    return condition?.reason === 'claiming shard(s) 0, 1';
  });
  await heir.logged('lost the shard; claiming it again once the group responds', {
    where: ({ error }) =>
      String(error).includes(`partition 1 of topic ${journal} has no leader; start the broker`),
  });

  await kafka.cluster.restart(0);
  written.push(...waiting);
  await areDecided([0, 1, 2]);
  terminal.assertOnceEach(written);
});

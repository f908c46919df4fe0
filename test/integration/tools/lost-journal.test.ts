/** A pipeline whose journal is another one, or missing: records under review in it are not silently lost. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { parse, stringify } from 'yaml';
import { EXIT } from '../../../src/cli/exit-codes.ts';
import { eventually } from '../../support/eventually.ts';
import { testKafka, uniqueName } from '../../support/kafka/kafka.ts';
import { startStack } from '../../support/stack/stack.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { startCli } from '../cli/cli-process.ts';
import { tool } from './tool.ts';

const directory = temporaryDirectory();
const kafka = await testKafka();

test('a new journal under a group with records under review is refused; with manually set offsets it runs, and audit reports unknown records', async () => {
  const stack = await startStack(kafka, directory, {
    partitions: 3,
    pipeline: { batch: { maxAge: '100ms' }, review: { poll: { initial: '50ms', max: '200ms' } } },
    policy: {
      faults: [{ operation: 'get_batch', action: 'state', state: 'PENDING', times: 'always' }],
    },
  });
  after(() => stack.stop());
  await kafka.write(stack.topics.source, [
    {
      partition: 2,
      key: 'k',
      value: JSON.stringify({ type: 'post', content: 'text', metadata: {} }),
    },
  ]);
  const first = await stack.startReplica();
  await eventually(
    'a batch is under review',
    async () => (await first.metric('batches', { state: 'reviewing' })) === 1,
  );
  first.process.kill('SIGTERM');
  await first.process.exited;

  const config = parse(readFileSync(stack.configFile, 'utf8'));
  const withJournal = (journal: object): string[] => {
    config.pipelines[0].journal = journal;
    writeFileSync(stack.configFile, stringify(config));
    return ['--config', stack.configFile];
  };
  const refusedRun = async (flags: string[]) => {
    const run = startCli(['run', ...flags], { LOG_FORMAT: 'json' });
    // One that is not refused runs until it is stopped.
    run.said(/owns the shard/).then(
      () => run.child.kill('SIGKILL'),
      () => undefined,
    );
    const { code, out } = await run.ended;
    assert.equal(code, EXIT.refused, out);
    return out;
  };

  const fewer = await refusedRun(withJournal({ topic: stack.topics.journal, partitions: 2 }));
  assert.match(fewer, /it has 3 partitions, but the configuration says 2/);
  assert.match(fewer, /Set journal\.partitions to 3 or auto; .*docs\/faq\.md/);
  assert.doesNotMatch(fewer, /another journal topic/);

  const topic = uniqueName('journal');
  const flags = withJournal({ topic, partitions: 2 });
  assert.match(await refusedRun(flags), /does not exist.*docs\/faq\.md/);
  const told = await tool('doctor', ...flags);
  assert.equal(told.code, EXIT.unwell, told.out);
  assert.match(told.out, /offsets of group.*does not exist.*docs\/faq\.md/s);

  await (await kafka.admin()).createTopics({
    waitForLeaders: false,
    topics: [
      {
        topic,
        numPartitions: 2,
        configEntries: [
          { name: 'cleanup.policy', value: 'compact' },
          { name: 'delete.retention.ms', value: '86400000' },
        ],
      },
    ],
  });
  await eventually(
    'audit sees the topic',
    async () => (await tool('audit', ...flags)).code !== EXIT.refused,
  );
  assert.match(await refusedRun(flags), /is empty/);
  const judged = async (when: string) => {
    const audit = await tool('audit', ...flags);
    assert.equal(audit.code, EXIT.unknown, `${when}: ${audit.out}${audit.err}`);
    assert.match(
      audit.out,
      /UNKNOWN.*an earlier journal may have had the records before them under review/s,
    );
    assert.doesNotMatch(audit.out, /Balanced/);
    const explained = await tool('explain', '2:0', ...flags);
    assert.equal(explained.code, EXIT.unknown, `${when}: ${explained.out}${explained.err}`);
  };
  await judged('while it is refused');

  // As docs/faq.md has it.
  await kafka.cluster.tool('org.apache.kafka.tools.consumer.group.ConsumerGroupCommand', [
    ...[
      '--bootstrap-server',
      kafka.brokers[0] as string,
      '--group',
      stack.group,
      '--topic',
      stack.topics.source,
    ],
    ...['--reset-offsets', '--to-current', '--execute'],
  ]);
  const second = await stack.startReplica();
  for (const shard of [0, 1])
    await second.logged('owns the shard', { where: (line) => line.shard === shard });
  await judged('after the override');
});

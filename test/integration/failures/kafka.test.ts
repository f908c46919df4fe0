/** Rows of the failure table about Kafka. The name of a test begins with the event of its row. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { parse, stringify } from 'yaml';
import { eventually } from '../../support/eventually.ts';
import { testKafka } from '../../support/kafka/kafka.ts';
import { runCliProcess } from '../cli/cli-process.ts';
import { run } from './scenes.ts';

const kafka = await testKafka();
const { scene, replica, configFile, startReplica } = await run(kafka, {
  frozen: {
    faults: [{ operation: 'get_batch', action: 'state', state: 'PENDING', times: 'always' }],
  },
});

test('another owner took the shard: the old owner commits nothing, and each record is decided once', async () => {
  const frozen = scene('frozen');
  await eventually(
    'the batch is under review',
    () => frozen.batches[0]?.batch_status === 'SUCCESS',
    { deadlineMs: 60_000 },
  );
  process.kill(replica.process.pid, 'SIGSTOP');
  const heir = await startReplica();
  await heir.logged('owns the shard');
  frozen.lift();
  await frozen.terminal.untilCount(frozen.source.length, 60_000);

  process.kill(replica.process.pid, 'SIGCONT');
  await frozen.untilMetric('shards_owned', {}, (value) => value === 0);
  await frozen.write([frozen.event('for the heir')]);
  await frozen.endsWell();
  assert.equal(frozen.batches.length, 2, 'nothing was submitted twice');
  assert.equal(await heir.metric('balance_items'), 0);
});

test('topics or permissions misconfigured: the connector exits with code 4 and names the required change', async () => {
  const journal = await kafka.createTopic('journal', { settings: { 'cleanup.policy': 'delete' } });
  const config = parse(readFileSync(configFile, 'utf8'));
  config.pipelines[0].journal.topic = journal;
  const changed = `${configFile}.changed.yaml`;
  writeFileSync(changed, stringify(config));
  const { code, out } = await runCliProcess(['run', '--config', changed], { LOG_FORMAT: 'json' });
  assert.equal(code, 4, out);
  assert.ok(out.includes(journal) && out.includes('cleanup.policy is'), out);
});

test('Kafka unreachable: the connector exits with code 3 and names the address and the remedy', async () => {
  const config = parse(readFileSync(configFile, 'utf8'));
  config.kafka.brokers = ['127.0.0.1:1'];
  const changed = `${configFile}.unreachable.yaml`;
  writeFileSync(changed, stringify(config));
  const { code, out } = await runCliProcess(['run', '--config', changed], { LOG_FORMAT: 'json' });
  assert.equal(code, 3, out);
  assert.match(out, /127\.0\.0\.1:1\b/);
  assert.match(out, /check that the brokers run/);
});

/** audit --watch as a process, beside a real broker. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { parse, stringify } from 'yaml';
import { EXIT } from '../../../src/cli/exit-codes.ts';
import { eventually } from '../../support/eventually.ts';
import { testKafka } from '../../support/kafka/kafka.ts';
import { startStack } from '../../support/stack/stack.ts';
import { TerminalRecords } from '../../support/stack/terminal-records.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { startCli } from '../cli/cli-process.ts';

const kafka = await testKafka();
const stack = await startStack(kafka, temporaryDirectory(), {
  partitions: 1,
  pipeline: { batch: { maxAge: '100ms' }, review: { poll: { initial: '50ms', max: '200ms' } } },
});
after(() => stack.stop());

/** Starts it with an audit every second. @param configFile of the stack, or another one */
async function watch(configFile = stack.configFile) {
  const flags = ['--watch', '--every', '1s', '--since', '1h'];
  const cli = startCli(['audit', '--config', configFile, ...flags], { LOG_FORMAT: 'json' });
  after(() => cli.child.kill('SIGKILL'));
  const [, url = ''] = await cli.said(/"url":"(http:[^"]+)"/);
  const values = async (): Promise<Readonly<Record<string, number>>> => {
    const text = await (await fetch(`${url}/metrics`)).text();
    const found = text.matchAll(/^content_review_(\w+)\{pipeline="reviews"\} (\S+)$/gm);
    return Object.fromEntries(Array.from(found, ([, name, value]) => [name, Number(value)]));
  };
  const reports = (missing: number, double: number) =>
    eventually(`${missing} missing, ${double} double`, async () => {
      const { audit_missing_records, audit_double_records } = await values();
      return audit_missing_records === missing && audit_double_records === double;
    });
  const stop = async () => {
    cli.child.kill('SIGTERM');
    assert.equal((await cli.ended).code, EXIT.ok);
  };
  return { ...cli, values, reports, stop };
}

test('a watch reports balance, then a second decision; another one a decision that is not there, then the failure to audit', async () => {
  const event = (n: number) => JSON.stringify({ type: 'post', content: `text ${n}`, metadata: {} });
  await kafka.write(
    stack.topics.source,
    [1, 2, 3].map((n) => ({ value: event(n) })),
  );
  await stack.startReplica();
  const terminals = new TerminalRecords(kafka, stack);
  await terminals.untilCount(3);
  const first = await watch();
  await first.reports(0, 0);
  const { audit_interval_seconds, audit_success_timestamp_seconds = 0 } = await first.values();
  assert.equal(audit_interval_seconds, 1);
  assert.ok(Math.abs(Date.now() / 1_000 - audit_success_timestamp_seconds) < 60);
  assert.equal((await first.values()).build_info, undefined);

  const [again, ...kept] = terminals.all.map(({ record }) => record);
  assert.ok(again !== undefined);
  await kafka.write(stack.topics.decisions, [again]);
  await first.reports(0, 1);
  await first.stop();

  // An output topic from which one decision was removed.
  const topic = await kafka.createTopic('decisions');
  await kafka.write(
    topic,
    kept.map((record) => ({ ...record, partition: 0 })),
  );
  const config = parse(readFileSync(stack.configFile, 'utf8'));
  config.pipelines[0].output = { ...config.pipelines[0].output, topic };
  const other = `${stack.configFile}.other.yaml`;
  writeFileSync(other, stringify(config));
  const second = await watch(other);
  await second.reports(1, 0);

  const admin = await kafka.admin();
  await admin.deleteTopics({ topics: [topic] });
  await second.said(/"msg":"audit failed"/);
  assert.equal((await second.values()).audit_missing_records, 1);
  await second.stop();
});

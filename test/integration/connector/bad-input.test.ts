import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, test } from 'node:test';
import { parse, stringify } from 'yaml';
import { testKafka, uniqueName } from '../../support/kafka/kafka.ts';
import { headerOf } from '../../support/records/headers.ts';
import { type Stack, startStack } from '../../support/stack/stack.ts';
import { TerminalRecords } from '../../support/stack/terminal-records.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { runCliProcess } from '../cli/cli-process.ts';

const MIB = 1024 * 1024;
const BATCHING = {
  batch: { maxRows: 50, maxAge: '200ms' },
  review: { poll: '500ms' },
};

const directories = Array.from({ length: 4 }, () => temporaryDirectory());
const kafka = await testKafka();
const stack = await startStack(kafka, directories[0] as string, {
  partitions: 1,
  pipeline: BATCHING,
});
after(() => stack.stop());

/** The stack's configuration, changed, in a file of its own. */
function changedConfig(
  change: (config: ReturnType<typeof parse>) => void,
  of: Stack = stack,
): string {
  const config = parse(readFileSync(of.configFile, 'utf8'));
  change(config);
  const file = path.join(directories[1] as string, `${uniqueName('config')}.yaml`);
  writeFileSync(file, stringify(config));
  return file;
}

const run = (change: (config: ReturnType<typeof parse>) => void) =>
  runCliProcess(['run', '--config', changedConfig(change)], { LOG_FORMAT: 'json' });

test('with no broker at the address it exits 3, and names the address and what to check', async () => {
  const { code, out } = await run((config) => {
    config.kafka.brokers = ['127.0.0.1:1'];
  });
  assert.equal(code, 3, out);
  assert.match(out, /127\.0\.0\.1:1\b/);
  assert.match(out, /check that the brokers run/);
});

/** Settings of the source; the outputs keep Kafka's 1 MiB. */
const LARGE = { 'max.message.bytes': String(8 * MIB) };

test('content of 5 MB is reviewed; what is larger than maxContent, or than its topic takes, is a dead letter and holds nobody up', async () => {
  const stack = await startStack(kafka, directories[3] as string, {
    partitions: 1,
    sourceSettings: LARGE,
    pipeline: {
      ...BATCHING,
      name: 'contents',
      source: { maxContent: '6MiB' },
      batch: { maxAge: '200ms', maxBytes: '16MiB' },
    },
    beside: [
      { partitions: 1, sourceSettings: LARGE, pipeline: { ...BATCHING, name: 'terminals' } },
    ],
    policy: { review: { rules: [{ when: { contains: 'the end' }, result: 'read to its end' }] } },
  });
  after(() => stack.stop());
  const { replicas } = stack;
  const [contents, terminals] = stack.pipelines.map(({ topics }) => ({
    topics,
    terminal: new TerminalRecords(kafka, { topics, replicas }),
  })) as [Large, Large];
  const content = (bytes: number) => `${'words '.repeat(bytes / 6)}the end`;
  const first = await kafka.write(contents.topics.source, [
    { key: 'fits', value: JSON.stringify({ type: 'post', content: content(5 * MIB) }) },
    { key: 'too large', value: JSON.stringify({ type: 'post', content: content(6.5 * MIB) }) },
    { key: 'after', value: JSON.stringify({ type: 'post', content: content(6) }) },
  ]);
  const second = await kafka.write(terminals.topics.source, [
    {
      key: 'k',
      value: JSON.stringify({ type: 'post', content: 'x', metadata: { m: 'y'.repeat(2 * MIB) } }),
    },
    { key: 'k'.repeat(100 * 1024), value: 'p'.repeat(950 * 1024) },
    { key: 'k', headers: [['h', 'h'.repeat(200 * 1024)]], value: 'p'.repeat(950 * 1024) },
    { key: 'k'.repeat(2 * MIB), value: 'p' },
    { key: 'after', value: JSON.stringify({ type: 'post', content: 'after' }) },
  ]);
  await stack.startReplica();
  for (const [{ terminal }, source] of [[contents, first] as const, [terminals, second] as const]) {
    await terminal.untilCount(source.length, 60_000);
    terminal.assertOnceEach(source);
  }
  const [fits, large, afterwards] = first.map((at) => contents.terminal.one(at));
  assert.equal(fits?.decision?.result, 'read to its end');
  assert.equal(afterwards?.decision?.result, 'read to its end');
  assert.equal(large?.reason, 'too_large');
  assert.equal(large.record.value, null);
  assert.equal(String(large.record.key), 'too large');
  assert.ok(Number(headerOf(large.record, 'dead-letter-value-omitted-bytes')) > 6.5 * MIB);
  const found = second.map((at) => terminals.terminal.one(at));
  assert.deepEqual(
    found.map(({ reason, decision }) => reason ?? decision?.status),
    ['too_large', 'not_json', 'not_json', 'not_json', 'SUCCESS'],
  );
});

interface Large {
  readonly topics: Stack['topics'];
  readonly terminal: TerminalRecords;
}

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, test } from 'node:test';
import { parse, stringify } from 'yaml';
import { eventually } from '../../support/eventually.ts';
import { testKafka, uniqueName } from '../../support/kafka/kafka.ts';
import { headerList, headerOf } from '../../support/records/headers.ts';
import { CANARY } from '../../support/stack/canary.ts';
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

test('a missing topic makes it exit 4 and is named', async () => {
  const name = uniqueName('nowhere');
  const { code, out } = await run((config) => {
    config.pipelines[0].output.topic = name;
  });
  assert.equal(code, 4, out);
  assert.match(out, new RegExp(`the output topic .*${name}.* does not exist: run .*topics create`));
});

test('a journal with another cleanup policy than compact makes it exit 4 and say what to alter', async () => {
  const settings = { 'cleanup.policy': 'compact,delete' };
  const journal = await kafka.createTopic('journal', { settings });
  const { code, out } = await run((config) => {
    config.pipelines[0].journal.topic = journal;
  });
  assert.equal(code, 4, out);
  assert.ok(out.includes(journal), out);
  assert.match(out, /cleanup\.policy is \\"compact,delete\\", must be exactly \\"compact\\"/);
});

test('a wrong service key: not ready with the reason while nothing comes in, nothing lost, and all goes on when the key file is corrected; the same for a key that is refused later', async () => {
  const keyFile = path.join(directories[2] as string, 'service.key');
  writeFileSync(keyFile, 'wrong-key');
  const keyed = await startStack(kafka, directories[2] as string, {
    partitions: 2,
    pipeline: BATCHING,
    config: { service: { apiKey: { file: keyFile } } },
  });
  after(() => keyed.stop());
  const events = Array.from({ length: 40 }, (_, n) => ({
    partition: n % 2,
    value: JSON.stringify({ type: 'post', content: `text ${n}` }),
  }));
  const replica = await keyed.startReplica();
  const url = await replica.url();
  const refusal = await eventually('it is not ready because of the key', async () => {
    const answer = await fetch(`${url}/readyz`);
    const text = await answer.text();
    return answer.status === 503 && /"api_key"[^}]*answered 401/.test(text) ? text : undefined;
  });
  const source = await kafka.write(keyed.topics.source, events);
  assert.ok(!refusal.includes('wrong-key') && !replica.lines.join('\n').includes('wrong-key'));
  assert.equal((await fetch(`${url}/livez`)).status, 200);
  await replica.logged('the API key is not accepted; joining the group once it is');

  writeFileSync(keyFile, CANARY.key);
  const terminal = new TerminalRecords(kafka, keyed);
  await terminal.untilCount(source.length, 60_000);
  await eventually('it is ready again', async () => (await fetch(`${url}/readyz`)).ok);

  // Refused later: the replica keeps its shards, since others have the same key as a rule.
  writeFileSync(keyFile, 'wrong-key');
  source.push(...(await kafka.write(keyed.topics.source, events)));
  await eventually('it is not ready, and keeps its shards', async () => {
    const text = await (await fetch(`${url}/readyz`)).text();
    return /"api_key"[^}]*answered 401[^}]*this replica keeps its shards/.test(text);
  });
  writeFileSync(keyFile, CANARY.key);
  await terminal.untilCount(source.length, 60_000);
  await terminal.refresh();
  terminal.assertOnceEach(source);
  assert.ok(terminal.all.every(({ decision }) => decision?.status === 'SUCCESS'));
});

test('records that cannot be reviewed become dead letters with their reason; odd ones are reviewed as they are', async () => {
  const replica = await stack.startReplica();
  const events = [
    { value: 'not JSON', reason: 'not_json' },
    { value: Buffer.from([0xc3, 0x28]), reason: 'not_json' },
    { value: '[1]', reason: 'not_an_object' },
    { value: null, reason: 'null_value' },
    { value: '', reason: 'not_json' },
    { value: JSON.stringify({ type: 'post', content: '' }), reason: 'empty_content' },
    { value: JSON.stringify({ type: 'post', content: 7 }), reason: 'no_content' },
    {
      value: JSON.stringify({
        type: 'post',
        content: 'x',
        metadata: { Status: 'mine', Content: 1, 'x result': null },
      }),
    },
    {
      value: JSON.stringify({
        type: 'post',
        content: '=HYPERLINK("http://x","y")\n+1',
        metadata: { '=key': '=value' },
      }),
    },
    { value: JSON.stringify({ type: 'post', content: ' \t' }) },
  ].map((event, n) => ({ key: `k${n}`, headers: headerList({ h: `v${n}` }), ...event }));
  const source = await kafka.write(stack.topics.source, events);
  const terminal = new TerminalRecords(kafka, stack);
  await terminal.untilCount(source.length);
  terminal.assertOnceEach(source);
  for (const [index, { key, value, reason }] of events
    .map((event) => ({ reason: undefined, ...event }))
    .entries()) {
    const found = terminal.one(source[index] as { partition: number; offset: number });
    assert.equal(found.reason, reason, `${value}`);
    assert.equal(String(found.record.key), key);
    if (reason === undefined) {
      assert.deepEqual(found.decision?.metadata, JSON.parse(String(value)).metadata ?? {});
      assert.equal(found.decision?.status, 'SUCCESS');
    } else {
      assert.deepEqual(found.record.value, value === null ? null : Buffer.from(value));
      assert.equal(headerOf(found.record, 'h'), `v${index}`);
    }
  }
  await eventually(
    'the balance is even',
    async () => (await replica.metric('items_in_flight')) === 0,
  );
  assert.equal(await replica.metric('balance_items'), 0);
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

/** Remains of a process that dies of an error: standard error and Node's diagnostic report (I6). */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { testKafka } from '../../../../../test/support/kafka/kafka.ts';
import { assertSilent, CANARY, secretIn } from '../../../../../test/support/stack/canary.ts';
import { startStack } from '../../../../../test/support/stack/stack.ts';
import { temporaryDirectory } from '../../../../../test/support/temporary-directory.ts';

const CLI = new URL('../../../../../src/cli/main.ts', import.meta.url).pathname;
const CLIENT = new URL('../../../src/index.ts', import.meta.url).href;

async function crash(
  args: string[],
  env: Record<string, string>,
  directory: string,
): Promise<string> {
  const flags = ['--report-uncaught-exception', `--report-directory=${directory}`];
  const child = spawn(process.execPath, [...flags, ...args], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  child.stdout.on('data', (chunk) => {
    said += chunk;
  });
  child.stderr.on('data', (chunk) => {
    said += chunk;
  });
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
  assert.notEqual(code, 0, said);
  const reports = readdirSync(directory).filter((name) => name.startsWith('report.'));
  assert.equal(reports.length, 1, said);
  return said + readFileSync(path.join(directory, reports[0] ?? ''), 'utf8');
}

test('an uncaught error of the client shows neither key, content nor signature', async () => {
  const directory = temporaryDirectory();
  const script = path.join(directory, 'crash.mjs');
  writeFileSync(
    script,
    `import { ContentReviewClient } from ${JSON.stringify(CLIENT)};
const secrets = JSON.parse(process.argv[2]);
const client = new ContentReviewClient({ baseUrl: 'http://127.0.0.1:1', apiKey: secrets.key, retry: { maxRetries: 0 } });
process.argv.length = 0;
const upload = client.batches.upload({ uploadUrl: 'http://127.0.0.1:1/up.csv?X-Amz-Signature=' + secrets.signature }, Buffer.from(secrets.content));
const created = await client.batches.create('email').catch((error) => error);
await upload.catch((error) => { throw new AggregateError([error, created], 'both failed', { cause: error }); });
`,
  );
  const said = await crash(['--report-exclude-env', script, JSON.stringify(CANARY)], {}, directory);
  assert.match(said, /UnavailableError/);
  // Its command line is part of the report: that is why no key is ever taken from there.
  assertSilent(said.replaceAll(/"commandLine": \[[^\]]*\]/g, ''), 'what the crash left');
});

test('a connector that dies while it uploads shows nothing of the content and the signed address that it holds', async () => {
  const kafka = await testKafka();
  const directory = temporaryDirectory();
  const reports = temporaryDirectory();
  const preload = path.join(directory, 'fail.mjs');
  // Thrown while undici has body and address in hand, and uncaught.
  writeFileSync(
    preload,
    `import { subscribe } from 'node:diagnostics_channel';
subscribe('undici:request:bodySent', ({ request }) => {
  if (request.method !== 'PUT') return;
  const holds = /[?&]X-Amz-Signature=/.test(request.path);
  process.nextTick(() => { throw new Error(holds ? 'dies with a signed address' : 'dies without one'); });
});`,
  );
  const stack = await startStack(kafka, directory, {
    partitions: 1,
    pipeline: { batch: { maxRows: 4, maxAge: '200ms' } },
  });
  try {
    const events = Array.from({ length: 4 }, (_, n) => ({
      value: JSON.stringify({ type: 'post', content: `${CANARY.content} ${n}` }),
    }));
    await kafka.write(stack.topics.source, events);
    const flags = `--report-uncaught-exception --report-directory=${reports} --import ${preload}`;
    const replica = await stack.startReplica({ NODE_OPTIONS: flags });
    // Its output is looked at as it comes (spawnReplica).
    const { code } = await replica.process.exited;
    assert.notEqual(code, 0);
    assert.match(replica.lines.join('\n'), /dies with a signed address/);
    const [report = '', ...more] = readdirSync(reports);
    assert.deepEqual(more, []);
    const left = readFileSync(path.join(reports, report), 'utf8');
    assert.match(left, /dies with a signed address/);
    assertSilent(left, 'the report of the crash');
    const journal = await kafka.readAll(stack.topics.journal, { uncommitted: true });
    assert.ok(journal.length > 0);
    assertSilent(journal.map(({ key, value }) => `${key} ${value}`).join('\n'), 'the journal');
  } finally {
    await stack.stop();
  }
});

test('a connector that dies leaves no key of its environment in its report', async () => {
  const directory = temporaryDirectory();
  const config = path.join(directory, 'connector.yaml');
  writeFileSync(
    config,
    'kafka: {brokers: ["127.0.0.1:1"]}\nservice: {baseUrl: "https://review.example", apiKey: {env: CANARY_KEY}}\nhttp: {enabled: false}\npipelines: [{name: p, source: {topic: t}}]\n',
  );
  const preload = path.join(directory, 'fail.mjs');
  // Thrown as it connects to Kafka: by then the configuration, and with it the key, has been read.
  writeFileSync(
    preload,
    `import { subscribe } from 'node:diagnostics_channel';
subscribe('net.client.socket', () => process.nextTick(() => { throw new Error('of no use'); }));`,
  );
  const said = await crash(
    ['--import', preload, CLI, 'run', '--config', config],
    { CANARY_KEY: CANARY.key },
    directory,
  );
  assert.match(said, /of no use/);
  assert.equal(secretIn(said), undefined);
});

/** topics create against a real broker, and the refusal of a start without topics. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { EXIT } from '../../../packages/client/src/cli/exit-codes.ts';
import { testKafka, uniqueName } from '../../support/kafka/kafka.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { tool } from '../tools/tool.ts';
import { startCli } from './cli-process.ts';

const kafka = await testKafka();
const [posts, more] = [uniqueName('posts'), uniqueName('more')];
const config = path.join(temporaryDirectory(), 'connector.yaml');
writeFileSync(
  config,
  JSON.stringify({
    kafka: { brokers: kafka.brokers },
    service: { baseUrl: 'http://127.0.0.1:1', apiKey: { env: 'KEY' } },
    http: { port: 0 },
    // Both have the same dead-letter topic.
    pipelines: [posts, more].map((name) => ({
      name,
      source: { topic: name },
      deadLetters: { topic: `${posts}.dead` },
    })),
  }),
);
const create = (...more: readonly string[]) => tool('topics', 'create', '-c', config, ...more);
const names = async () =>
  (await (await kafka.admin()).listTopics()).filter(
    (one) => one.includes(posts) || one.includes(more),
  );

test('a start without topics names all of them, of all pipelines, with the command that creates them', async () => {
  const { code, out } = await startCli(['run', '--config', config], { KEY: 'k' }).ended;
  assert.equal(code, EXIT.refused);
  for (const topic of [posts, more, `${posts}.decisions`, `${more}.decisions`, `${posts}.dead`])
    assert.ok(out.includes(`topic \\"${topic}\\"`), `${topic}: ${out}`);
  assert.match(out, /do not exist: run .{2}content-review-connector topics create/);
});

test('a replication factor that the cluster cannot have is refused, by name and with the remedy', async () => {
  for (const yes of [[], ['--yes']]) {
    const { code, err } = await create('--replication-factor', '100', ...yes);
    assert.equal(code, EXIT.refused, err);
    assert.match(err, /^cannot create topic .*INVALID_REPLICATION_FACTOR.*not above the number/m);
  }
});

test('a dry run creates nothing; --yes creates all, also the journals; then there is nothing to create', async () => {
  const dry = await create();
  assert.equal(dry.code, EXIT.ok, dry.err);
  assert.match(dry.out, /^Dry run: 7 topics would be created\. Add --yes to create them\.$/m);
  assert.deepEqual(await names(), []);

  const made = await create('--yes', '--partitions', '2');
  assert.equal(made.code, EXIT.ok, made.err);
  assert.match(made.out, /^7 topics created\.$/m);
  assert.equal((await names()).length, 7);

  const again = await create('--yes');
  assert.equal(again.code, EXIT.ok, again.err);
  assert.match(again.out, /^No topic to create\.$/m);
});

test('a topic that cannot serve has its own exit code and a line with the reason', async () => {
  const text = await tool('topics', 'create', '-c', config, '--pipeline', 'no-such');
  assert.equal(text.code, EXIT.usage);
  const admin = await kafka.admin();
  await admin.alterConfigs({
    validateOnly: false,
    resources: [
      {
        type: 2,
        name: `${posts}.decisions`,
        configEntries: [{ name: 'cleanup.policy', value: 'compact' }],
      },
    ],
  });
  const { code, out } = await create('--json');
  const { topics } = JSON.parse(out) as {
    topics: { topic: string; status: string; found: string }[];
  };
  const [wrong, ...others] = topics.filter(({ status }) => status !== 'ok');
  assert.deepEqual([code, wrong?.topic, others], [EXIT.refused, `${posts}.decisions`, []]);
  assert.match(wrong?.found ?? '', /cleanup\.policy .* must be "delete"/);
});

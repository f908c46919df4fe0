import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { testKafka } from '../../support/kafka/kafka.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { DemoProcess } from './demo-process.ts';

const BALANCES = [
  /^ {2}review +in 2,010 = 2,000 decided \+ 10 dead-lettered, 0 missing, 0 twice$/m,
  /^ {2}import +in 1,005 = 1,000 imported \+ 5 dead-lettered, 0 missing, 0 twice$/m,
  /^ {2}lookup +in 104 = 100 looked up \+ 4 dead-lettered, 0 missing, 0 twice$/m,
];
const kafka = await testKafka();

test('the demo shows every part with its address and an even balance of each pipeline, ends with 0 and leaves nothing', async () => {
  const demo = new DemoProcess();
  assert.equal(await demo.end(), 0, demo.output);
  assert.match(demo.output, /Kafka +[\d.]+ s +\S+:\d+/);
  for (const part of ['sandbox', 'connector'])
    assert.match(demo.output, new RegExp(`${part} +[\\d.]+ s +http://127\\.0\\.0\\.1:\\d+`));
  for (const balance of BALANCES) assert.match(demo.output, balance);
  assert.match(demo.output, /deep-equal in 2,000 of 2,000$/m);
  const [, agreed] = await demo.says(/results as expected: ([\d.]+) %/);
  assert.ok(Number(agreed) > 85, demo.output);
  assert.match(demo.output, /1,000 of 1,000 are in the file that the receipt names$/m);
  assert.match(demo.output, /90 decided, 5 failed, 5 unknown: 100 of 100 as it should be$/m);
  const widest = Math.max(...demo.output.split('\n').map((line) => line.length));
  assert.ok(widest <= 160, `a line of ${widest} characters`);
  assert.ok(!demo.output.includes('\u001b'), 'no escape sequences where the output is no terminal');
  assert.deepEqual(demo.left(), []);
});

test('on a shared cluster --keep leaves topics with unique names, and Ctrl-C deletes them', async () => {
  const admin = await kafka.admin();
  const demo = new DemoProcess(['--keep'], { KAFKA_BROKERS: kafka.brokers.join(',') });
  await demo.says(/Ctrl-C stops it/);
  for (const balance of BALANCES) assert.match(demo.output, balance);

  const [, metrics = ''] = await demo.says(/^ {2}metrics +(http\S+)/m);
  assert.equal(
    (await (await fetch(metrics)).text()).match(/^content_review_balance_items\{[^}]*\} 0$/gm)
      ?.length,
    3,
  );
  const [, health = ''] = await demo.says(/^ {2}health +\S+ +(http\S+)/m);
  assert.equal((await fetch(health)).status, 200);
  const [, batches = ''] = await demo.says(/^ {2}sandbox +(http\S+\/batches)/m);
  assert.equal((await fetch(batches)).status, 200);
  const [, topic = ''] = await demo.says(/^ {2}topics +\S+ {2}(\S+)/m);
  const decisions = (await kafka.readAll(topic)).map(
    ({ value }) => JSON.parse(String(value)) as { id: string },
  );
  assert.equal(new Set(decisions.map(({ id }) => id)).size, 2_000);

  const [, prefix = ''] = /^(demo-[0-9a-f]{8}-)emails\.decisions$/.exec(topic) ?? [];
  const topics = async () => (await admin.listTopics()).filter((name) => name.startsWith(prefix));
  const groups = async () =>
    (await admin.listGroups()).groups.filter(({ groupId }) => groupId.startsWith(prefix));
  assert.equal((await topics()).length, 12, 'four of each pipeline');
  assert.equal((await groups()).length, 4, 'one of each pipeline, and the reader');
  const { code } = await demo.interrupt();
  assert.equal(code, 130, demo.output);
  assert.deepEqual([...(await topics()), ...(await groups())], []);
  assert.deepEqual(demo.left(), []);
});

test('a part that cannot start is named with the end of its log, the demo ends with 1 and leaves nothing', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  const demo = new DemoProcess([], {
    KAFKA_BROKERS: kafka.brokers.join(','),
    HTTP_PORT: String(port),
  });
  assert.equal(await demo.end(), 1, demo.output);
  server.close();
  assert.match(
    demo.output,
    /The connector ended by itself with exit code 1\. The end of its log:\n.*cannot listen on 127\.0\.0\.1:\d+/,
  );
  assert.deepEqual(demo.left(), []);
});

test('without any Kafka the demo names what to install and ends with 1', async () => {
  const demo = new DemoProcess([], {
    KAFKA_BROKERS: undefined,
    JAVA_HOME: undefined,
    PATH: temporaryDirectory(),
  });
  assert.equal(await demo.end(), 1, demo.output);
  assert.match(
    demo.output,
    /There is no Kafka to use[\s\S]*Java 17[\s\S]*Docker[\s\S]*KAFKA_BROKERS/,
  );
  assert.deepEqual(demo.left(), []);
});

test('an unknown argument is refused with the usage and exit code 2', async () => {
  const demo = new DemoProcess(['--kep']);
  assert.equal(await demo.end(), 2);
  assert.match(demo.output, /--kep[\s\S]*usage: npm run demo/);
});

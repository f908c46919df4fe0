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

test('the demo can be broken by every key, recovers, verifies that each e-mail came back exactly once at Ctrl-C, and leaves nothing', async () => {
  const demo = new DemoProcess(['--keep', '--rate', '10']);
  await demo.says(/^ {2}files /m);
  assert.match(demo.output, /Kafka +[\d.]+ s +\S+:\d+/);
  for (const part of ['sandbox', 'connector'])
    assert.match(demo.output, new RegExp(`${part} +[\\d.]+ s +http://127\\.0\\.0\\.1:\\d+`));
  for (const balance of BALANCES) assert.match(demo.output, balance);
  assert.match(demo.output, /deep-equal in 2,000 of 2,000$/m);
  const [, agreed] = await demo.says(/results as expected: ([\d.]+) %/);
  assert.ok(Number(agreed) > 85, demo.output);
  assert.match(demo.output, /1,000 of 1,000 are in the file that the receipt names$/m);
  assert.match(demo.output, /90 decided, 5 failed, 5 unknown: 100 of 100 as it should be$/m);

  demo.press('s');
  await demo.says(/the service is stopped/);
  demo.press('b');
  await demo.says(/the broker is frozen/);
  // Lines of several keys, and in upper case, do the same.
  demo.press('BS');
  await demo.says(/recovered [\d.]+ s after the broker thawed/);
  await demo.says(/recovered [\d.]+ s after the service resumed/);
  demo.press('kp');
  await demo.says(/the connector ended with SIGKILL/);
  await demo.says(/100 poison records/);
  await demo.says(/recovered [\d.]+ s after the end of the connector/);
  await demo.says(/recovered [\d.]+ s after the poison was written/);

  // Parts that end for another reason are started again as well.
  for (const part of [/ kafka\.Kafka /, /\bmain\.ts sandbox /]) {
    const [pid = ''] =
      demo
        .processes()
        .find((one) => part.test(one))
        ?.split(' ') ?? [];
    process.kill(Number(pid), 'SIGKILL');
  }
  await demo.says(/recovered [\d.]+ s after the end of the service/);
  await demo.says(/recovered [\d.]+ s after the end of the broker/);

  const [, metrics = ''] = await demo.says(/^ {2}metrics +(http\S+)/m);
  const balances = /^content_review_balance_items\{[^}]*\} 0$/gm;
  assert.equal((await (await fetch(metrics)).text()).match(balances)?.length, 3);
  const [, health = ''] = await demo.says(/^ {2}health +\S+ +(http\S+)/m);
  assert.equal((await fetch(health)).status, 200);
  const [, batches = ''] = await demo.says(/^ {2}sandbox +(http\S+\/batches)/m);
  assert.equal((await fetch(batches)).status, 200);
  // What is still broken at the end is repaired first.
  demo.press('s');
  await demo.says(/the service is stopped[\s\S]*the service is stopped/);
  const { code } = await demo.interrupt();
  assert.equal(code, 0, demo.output);
  for (const balance of BALANCES) assert.match(demo.output.split('ending: ')[1] ?? '', balance);
  assert.match(
    demo.output,
    /^ {2}e-mails +in [\d,]+ = [\d,]+ decided \+ 100 dead-lettered, 0 missing, 0 twice$/m,
  );
  const widest = Math.max(...demo.output.split('\n').map((line) => line.length));
  assert.ok(widest <= 160, `a line of ${widest} characters`);
  assert.ok(!demo.output.includes('\u001b'), 'no escape sequences where the output is no terminal');
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

test('a rate needs --keep, and is a number from 1 to 1000', async () => {
  const alone = new DemoProcess(['--rate', '5']);
  const none = new DemoProcess(['--keep', '--rate', '0']);
  assert.deepEqual([await alone.end(), await none.end()], [2, 2]);
  assert.match(alone.output, /--rate needs --keep/);
  assert.match(none.output, /--rate is a number from 1 to 1000, not 0/);
});

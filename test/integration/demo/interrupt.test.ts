import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../../support/eventually.ts';
import { testKafka } from '../../support/kafka/kafka.ts';
import { DemoProcess } from './demo-process.ts';

/** Matches a line of progress. */
const PRODUCED = /^ {2}sent +[1-9]/m;

const kafka = await testKafka();

async function interrupted(demo: DemoProcess): Promise<void> {
  const code = await demo.interrupt();
  assert.equal(code, 130, demo.output);
  assert.deepEqual(demo.left(), []);
  assert.doesNotMatch(demo.output, /could not|Error|error/, demo.output);
}

test('on a shared cluster the demo uses topics with unique names, and deletes them after Ctrl-C', async () => {
  const admin = await kafka.admin();
  const isOwn = (name: string) => /^demo-[0-9a-f]{8}-/.test(name);
  const topics = async () => (await admin.listTopics()).filter(isOwn);
  const groups = async () =>
    (await admin.listGroups()).groups.filter(({ groupId }) => isOwn(groupId));
  const demo = new DemoProcess([], { KAFKA_BROKERS: kafka.brokers.join(',') });
  await demo.says(PRODUCED);
  assert.ok((await topics()).length > 0);
  await interrupted(demo);
  assert.deepEqual([...(await topics()), ...(await groups())], []);
});

test('a demo that is killed with SIGKILL leaves no process and no file', async () => {
  const demo = new DemoProcess([], { KAFKA_BROKERS: kafka.brokers.join(',') });
  await demo.says(PRODUCED);
  demo.process.kill('SIGKILL');
  assert.equal(await demo.end(), 'SIGKILL');
  await eventually('no file and no process of the demo is left', () => demo.left().length === 0);
});

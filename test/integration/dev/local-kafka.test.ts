import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startKafka } from '../../../dev/kafka/start.ts';
import { eventually } from '../../support/eventually.ts';
import { exclusiveKafka } from '../../support/kafka/kafka.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const COMMAND = fileURLToPath(new URL('../../../dev/kafka.ts', import.meta.url));

function runs(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

test('one broker keeps its address, topics and committed offsets over SIGKILL and restart; then nothing of it is left', async () => {
  const kafka = await exclusiveKafka({ properties: { 'log.retention.hours': '7' } });
  const { cluster } = kafka;
  const topic = await kafka.createTopic('survives', { partitions: 2 });
  await kafka.write(topic, [{ partition: 1, value: 'before' }]);
  const admin = await kafka.admin();
  await admin.setOffsets({ groupId: 'group', topic, partitions: [{ partition: 1, offset: '1' }] });

  const before = cluster.pid(0);
  await cluster.kill(0);
  assert.equal(runs(before), false);
  assert.throws(() => cluster.pid(0), /broker 0 is not running/);
  await assert.rejects(cluster.kill(0), /broker 0 is not running/);
  await assert.rejects(cluster.kill(1), /there is no broker 1/);
  await cluster.restart(0);
  assert.notEqual(cluster.pid(0), before);

  await kafka.write(topic, [{ partition: 1, value: 'after' }]);
  assert.deepEqual(
    (await kafka.readAll(topic)).map(({ value }) => String(value)),
    ['before', 'after'],
  );
  const servers = ['--bootstrap-server', cluster.brokers.join()];
  const reset = await cluster.tool('org.apache.kafka.tools.consumer.group.ConsumerGroupCommand', [
    ...servers,
    ...['--reset-offsets', '--group', 'group', '--topic', topic, '--to-earliest', '--execute'],
  ]);
  assert.match(reset, new RegExp(`group +${topic} +1 +0`));
  await assert.rejects(
    cluster.tool('org.apache.kafka.tools.TopicCommand', [...servers, '--no-such-option']),
    /no-such-option/,
  );

  const pid = cluster.pid(0);
  await kafka.close();
  await cluster.stop();
  await cluster.stop();
  assert.equal(runs(pid), false);
  assert.equal(existsSync(cluster.dataDir ?? ''), false);
  await assert.rejects(cluster.restart(0), /stopped/);
});

test('a broker that refuses its settings fails the start with the end of its log, and leaves nothing', async () => {
  const before = readdirSync(process.env.TMPDIR ?? '');
  await assert.rejects(
    startKafka({ properties: { 'log.segment.bytes': 'many' } }),
    /log\.segment\.bytes/,
  );
  assert.deepEqual(readdirSync(process.env.TMPDIR ?? ''), before);
});

test('the command line starts nothing beside the cluster that KAFKA_BROKERS names, and reports it', async () => {
  const env = { ...process.env, KAFKA_BROKERS: 'example:1' };
  const owner = spawn(process.execPath, [COMMAND], { env, stdio: ['ignore', 'pipe', 'ignore'] });
  const exited = once(owner, 'exit');
  const lines = createInterface({ input: owner.stdout })[Symbol.asyncIterator]();
  assert.match(String((await lines.next()).value), /existing cluster example:1/);
  assert.match(String((await lines.next()).value), /^Nothing was started.*unset KAFKA_BROKERS$/);
  owner.kill('SIGTERM');
  assert.deepEqual(await exited, [0, null]);
});

test('the command line prints the address, refuses a port in use, and leaves nothing when it is killed', async () => {
  const temporary = temporaryDirectory();
  const env = { ...process.env, TMPDIR: temporary };
  const owner = spawn(process.execPath, [COMMAND], {
    env,
    stdio: ['ignore', 'pipe', 'ignore'],
    detached: true,
  });
  const exited = once(owner, 'exit');
  const [line] = (await once(createInterface({ input: owner.stdout }), 'line')) as [string];
  const port = /127\.0\.0\.1:(\d+)$/.exec(line)?.[1] ?? '';
  const [name = ''] = readdirSync(temporary);
  assert.ok(existsSync(path.join(temporary, name, 'broker-1', 'server.log')));

  const second = spawn(process.execPath, [COMMAND, '--port', port], {
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  second.stderr.on('data', (chunk) => {
    said += chunk;
  });
  const [code] = (await once(second, 'close')) as [number];
  assert.equal(code, 1);
  assert.match(said, new RegExp(`port ${port} is in use`));

  process.kill(-(owner.pid as number), 'SIGKILL');
  await exited;
  await eventually('the data is gone', () => readdirSync(temporary).length === 0);
  await assert.rejects(fetch(`http://127.0.0.1:${port}`), /fetch failed/);
});

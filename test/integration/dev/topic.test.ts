/** `npm run produce` and `npm run read` against a real broker. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { testKafka } from '../../support/kafka/kafka.ts';

const kafka = await testKafka();

test('what others wrote on a topic cannot move, colour or turn the terminal of its reader', async () => {
  const topic = await kafka.createTopic('hostile');
  const run = (script: string, args: readonly string[], input = '') => {
    const all = [`dev/topic/${script}.ts`, topic, ...args, '--brokers', kafka.brokers.join(',')];
    const { stdout, stderr, status } = spawnSync(process.execPath, all, {
      input,
      encoding: 'utf8',
    });
    assert.equal(status, 0, stderr);
    assert.doesNotMatch(stdout, /[^\n\P{C}]/u, 'control and format characters are escaped');
    return stdout;
  };
  const event = '{"id":"k\\u001b[2J","text":"\u202e\u009b31m","big":12345678901234567890}';
  assert.match(run('produce', ['--key-field', 'id'], `${event}\n`), /^\d+:0 k\\u001b\[2J\n$/);
  await kafka.write(topic, [
    { key: '\u009b31m', value: '{"a":\r\n1}', headers: [['h\u202e', '\u001b']] },
    { value: '\u009b2J no JSON' },
  ]);
  const lines = run('read', ['--wait', '3']).trim().split('\n');
  const records = lines.map((line) => JSON.parse(line));
  assert.deepEqual(
    records.map(({ key, value, headers }) => ({ key, value, ...(headers && { headers }) })),
    [
      { key: 'k\u001b[2J', value: JSON.parse(event) },
      { key: '\u009b31m', value: { a: 1 }, headers: { 'h\u202e': '\u001b' } },
      { key: null, value: '\u009b2J no JSON' },
    ],
  );
  assert.match(lines[0] ?? '', /12345678901234567890/);
});

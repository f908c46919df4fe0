/** Error messages of the tools. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { stringify } from 'yaml';
import { EXIT } from '../../../packages/client/src/cli/exit-codes.ts';
import { requestFailure } from '../../../src/kafka/index.ts';
import { testKafka, uniqueName } from '../../support/kafka/kafka.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { tool } from './tool.ts';

const kafka = await testKafka();
const directory = temporaryDirectory();
const TOOLS = [
  ['journal'],
  ['explain', '0:0'],
  ['audit'],
  ['dead-letters', 'list'],
  ['dead-letters', 'replay', '--to', 'source'],
];

function configuration(
  name: string,
  brokers: readonly string[],
  pipelines: readonly object[],
): string[] {
  const file = path.join(directory, `${name}.yaml`);
  writeFileSync(
    file,
    stringify({
      kafka: { brokers },
      service: { baseUrl: 'http://127.0.0.1:9', apiKey: 'key' },
      pipelines,
    }),
  );
  return ['--config', file];
}

test('an unreachable broker is exit code 3, with the remedy', async () => {
  const flags = configuration(
    'unreachable',
    ['127.0.0.1:1'],
    [{ name: 'one', source: { topic: 'content' } }],
  );
  for (const args of TOOLS) {
    const { code, out, err } = await tool(...args, ...flags);
    assert.deepEqual([code, out], [EXIT.unreachable, '']);
    assert.match(err, /^Kafka at 127\.0\.0\.1:1 cannot be reached: .*check that the brokers run/);
  }
});

test('a missing topic is exit code 4, named with its role', async () => {
  const topic = await kafka.createTopic('content');
  const pipeline = { name: 'one', source: { topic, group: uniqueName('group') } };
  const flags = configuration('no-topic', kafka.brokers, [pipeline]);
  for (const args of TOOLS) {
    const { code, err } = await tool(...args, ...flags);
    assert.equal(code, EXIT.refused);
    assert.match(
      err,
      /^the topic group-\w+\.journal \(journal of pipeline one\) does not exist: this pipeline has never run/,
    );
  }
});

test('the pipeline must be unambiguous, and a position must be valid', async () => {
  const pipelines = ['posts', 'comments'].map((name) => ({
    name,
    source: { topic: `content-${name}` },
  }));
  const flags = configuration('two', kafka.brokers, pipelines);
  for (const [args, pattern] of [
    [['journal'], /several pipelines: choose one with --pipeline \(posts, comments\)/],
    [['audit', '-p', 'post'], /no pipeline "post": did you mean posts\?/],
    [['explain', '1-2', '-p', 'posts'], /A record is named PARTITION:OFFSET, such as 2:1371/],
    [['explain', '-p', 'posts'], /^name a record \(PARTITION:OFFSET or an event id\), or search/],
    [['explain', '0:1', '--key', 'k', '-p', 'posts'], /^--key belongs to a search: leave out/],
    [['explain', '--key', 'k', '--thorough', '-p', 'posts'], /^--thorough takes one record/],
    [
      ['explain', '--key', 'k', '--since', '1h', '--until', '2h', '-p', 'posts'],
      /is empty: change --since or --until/,
    ],
    [['audit', '-p', 'posts', '--from', 'x'], /An offset is a whole number from 0/],
    [
      ['audit', '-p', 'posts', '--from', '1', '--since', '1h'],
      /cannot be used with option '--from <offset>'/,
    ],
    [['audit', '-p', 'posts', '--since', '1 fortnight'], /A time is ISO 8601/],
    [['dead-letters', 'replay', '-p', 'posts'], /required option '--to <topic>' not specified/],
    [
      ['dead-letters', 'replay', '7', '-p', 'posts', '--to', 'source'],
      /A record is named PARTITION:OFFSET/,
    ],
    [['dead-letters', 'list', '-p', 'posts', '--reason', 'not_jsn'], /Did you mean not_json\?/],
    [['dead-letters', 'list', '-p', 'posts', '--limit', '0'], /The limit is a whole number from 1/],
  ] as const) {
    const { code, out, err } = await tool(...args, ...flags);
    assert.deepEqual([code, out], [EXIT.usage, ''], args.join(' '));
    assert.match(err, pattern);
  }
});

test('only commands that call the service need its key', async () => {
  const file = path.join(directory, 'no-key.yaml');
  const reference = '$'.concat('{NO_SUCH_VARIABLE}');
  for (const apiKey of [
    reference,
    { env: 'NO_SUCH_VARIABLE' },
    { file: 'no-such-file' },
    undefined,
  ]) {
    const service = { baseUrl: 'http://127.0.0.1:9', apiKey };
    const pipelines = [{ name: 'one', source: { topic: 'no-such-topic' } }];
    writeFileSync(file, stringify({ kafka: { brokers: kafka.brokers }, service, pipelines }));
    for (const args of [
      ['audit'],
      ['dead-letters', 'list'],
      ['journal', '--no-service'],
      ['explain', '0:0', '--no-service'],
    ]) {
      const { code, err } = await tool(...args, '--config', file);
      assert.equal(code, EXIT.refused, `${args.join(' ')}: ${err}`);
    }
    for (const args of [['journal'], ['explain', '0:0']]) {
      const { code, err } = await tool(...args, '--config', file);
      assert.equal(code, EXIT.usage);
      assert.match(err, /service\.apiKey/);
    }
  }
});

test('a Kafka that stops responding is exit code 3, and one that refuses is 4', () => {
  const refused = Object.assign(new Error('no'), {
    name: 'KafkaJSProtocolError',
    type: 'TOPIC_AUTHORIZATION_FAILED',
  });
  const gone = Object.assign(new Error('Closed connection'), {
    name: 'KafkaJSConnectionClosedError',
  });
  const wrapped = (cause: Error) =>
    new Error('cannot list the offsets', { cause: new Error('deeper', { cause }) });
  assert.equal(requestFailure(wrapped(refused)), 'refused');
  assert.equal(requestFailure(wrapped(gone)), 'unreachable');
  assert.equal(requestFailure(new TypeError('a mistake of ours')), undefined);
});

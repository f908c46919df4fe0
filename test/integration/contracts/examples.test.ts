/** The examples for producers and consumers, as they stand, around a connector on a real broker. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { spawnKept } from '../../../dev/process/kept.ts';
import { eventually } from '../../support/eventually.ts';
import { testKafka, uniqueName } from '../../support/kafka/kafka.ts';
import { headerOf } from '../../support/records/headers.ts';
import { startStack } from '../../support/stack/stack.ts';
import { TerminalRecords } from '../../support/stack/terminal-records.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const example = (name: string) =>
  fileURLToPath(new URL(`../../../examples/typescript/${name}.ts`, import.meta.url));

const OWN_PACKAGE = new URL('../../../dev/own-package.ts', import.meta.url).href;
const kafka = await testKafka();
const directory = temporaryDirectory();

test('what the example producer writes comes to the example consumer once, and what cannot be reviewed with its reason', async () => {
  const stack = await startStack(kafka, directory, {
    partitions: 1,
    pipeline: {
      batch: { maxAge: '200ms' },
      output: { headers: ['trace-id'] },
      review: { poll: '500ms' },
    },
  });
  after(() => stack.stop());
  const { source, decisions, deadLetters } = stack.topics;
  const run = (name: string, env: Readonly<Record<string, string>>, lines: string[]) =>
    // Without the warning that kafkajs makes Node print about a timeout that is over already.
    spawnKept({
      command: process.execPath,
      args: ['--import', OWN_PACKAGE, example(name)],
      env: {
        ...process.env,
        NODE_OPTIONS: undefined,
        NODE_NO_WARNINGS: '1',
        KAFKA_BROKERS: kafka.brokers.join(','),
        ...env,
      },
      onLine: (line) => lines.push(line),
    });

  const sent: string[] = [];
  const [producer] = await Promise.all([
    run('producer', { TOPIC: source }, sent),
    stack.startReplica(),
  ]);
  assert.deepEqual([(await producer.exited).code, sent], [0, [`sent 3 comments to ${source}`]]);
  const [poison] = await kafka.write(source, [{ key: 'u-9', value: '{"type":"comment"}' }]);
  assert.deepEqual(poison, { partition: 0, offset: 3 });
  const terminal = new TerminalRecords(kafka, stack);
  await terminal.untilCount(4);
  const decision = terminal.one({ partition: 0, offset: 0 }).record;
  assert.match(headerOf(decision, 'trace-id'), /^[0-9a-f-]{36}$/);
  assert.equal(String(decision.key), 'u-7');
  // As a consumer sees it whose commit of offsets was lost.
  await kafka.write(decisions, [
    { partition: decision.partition, value: decision.value, headers: decision.headers },
  ]);

  const printed: string[] = [];
  const env = { DECISIONS: decisions, DEAD_LETTERS: deadLetters, GROUP: uniqueName('moderation') };
  const consumer = await run('consumer', env, printed);
  after(() => consumer.stop(0));
  await eventually('the consumer printed all', () => printed.length >= 6, {
    deadlineMs: 30_000,
  }).catch((error: Error) => {
    throw new Error(`${error.message}: ${printed.join('\n')}`);
  });
  const id = `${source}-0-`;
  const about = (comment: string, author: string) =>
    JSON.stringify({ comment, author: { id: author } });
  const known = printed
    .map((line) =>
      line.replace(/: [^:]+, about /, ': RESULT, about ').replace(/(dead letter, \w+): .+/, '$1'),
    )
    .sort();
  assert.deepEqual(known, [
    `${id}0: RESULT, about ${about('c-1', 'u-7')}`,
    `${id}0: seen before`,
    `${id}1: RESULT, about ${about('c-2', 'u-8')}`,
    `${id}2: RESULT, about ${about('c-3', 'u-7')}`,
    `${id}3: dead letter, no_content`,
    'reading',
  ]);
  consumer.kill('SIGTERM');
  assert.deepEqual(await consumer.exited, { code: 0, signal: null });
});

/** Tests a producer and a consumer in one language, with a real broker and records as the connector writes them. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { type Kept, spawnKept } from '../../../dev/process/kept.ts';
import { codecOf } from '../../../src/events/formats/output-format.ts';
import { writeFrame } from '../../../src/events/registry/index.ts';
import { murmur2, partitionOfHash } from '../../../src/kafka/producer/send-plan.ts';
import { contractFile } from '../../support/contracts.ts';
import { eventually } from '../../support/eventually.ts';
import { type TestKafka, testKafka, uniqueName } from '../../support/kafka/kafka.ts';
import { fakeRegistry } from '../../support/stack/registry.ts';
import type { ExampleCommand, Found } from './toolchains.ts';

export interface Exchange {
  readonly language: string;
  readonly find: () => Promise<Found>;
  /** Format that the consumer reads in addition to JSON. */
  readonly format: 'avro' | 'protobuf';
  /** Metadata as the consumer prints it. Defaults to the sent metadata. */
  readonly printed?: string;
  /** Exit code after SIGTERM, by default 0. */
  readonly exitCode?: number;
}

const PARTITIONS = 6;
/** Metadata of a sent event. Its long number checks that all digits are preserved. */
export const METADATA = '{"comment":"c-1","big":12345678901234567890}';
const EXAMPLE = JSON.parse(contractFile('examples/decision.json'));
const FAILED = JSON.parse(contractFile('examples/decision-error.json'));
const LETTER = JSON.parse(contractFile('examples/dead-letter.json'));

const decision = (id: string, example = EXAMPLE) =>
  JSON.stringify({ ...example, id, metadata: 'METADATA' }).replace('"METADATA"', METADATA);
const idHeader = (id: string) => [['event-id', id]] as const;

/**
 * Tests one language. If its toolchain is missing, the test only reports this, but fails if EXAMPLE_TOOLCHAINS lists
 * the language, as in CI.
 */
export async function testExchange({
  language,
  find,
  format,
  printed = METADATA,
  exitCode = 0,
}: Exchange) {
  const found = await find();
  const name = `${language}: the example producer writes events as Java's clients do, and the consumer reads committed JSON and ${format}`;
  if ('missing' in found) {
    test(name, (t) => {
      t.diagnostic(`${language} is not tested: ${found.missing} was not found`);
      const required = process.env.EXAMPLE_TOOLCHAINS?.split(' ') ?? [];
      assert.ok(!required.includes(language), `${found.missing} is missing`);
    });
    return;
  }
  const kafka = await testKafka();
  test(name, async () => {
    await producerWrites(kafka, found.commandOf('producer'));
    await consumerReads(kafka, found.commandOf('consumer'), { format, printed, exitCode });
  });
}

function start(
  { command, args, env }: ExampleCommand,
  variables: Readonly<Record<string, string>>,
  lines: string[],
): Promise<Kept> {
  return spawnKept({
    command,
    args,
    env: { ...process.env, ...env, ...variables },
    onLine: (line) => lines.push(line),
  });
}

async function producerWrites(kafka: TestKafka, command: ExampleCommand): Promise<void> {
  const topic = await kafka.createTopic('content-events', { partitions: PARTITIONS });
  const lines: string[] = [];
  const env = { KAFKA_BROKERS: kafka.brokers.join(), TOPIC: topic };
  const { exited } = await start(command, env, lines);
  const { code } = await exited;
  assert.deepEqual([code, lines], [0, [`sent 3 comments to ${topic}`]]);
  const records = await kafka.readAll(topic);
  const about = (comment: string, author: string) => ({ comment, author: { id: author } });
  assert.deepEqual(
    records
      .map(({ key, value, partition }) => {
        const { type, metadata, ...rest } = JSON.parse(String(value));
        assert.deepEqual(Object.keys(rest), ['content']);
        assert.equal(type, 'comment');
        assert.equal(partition, partitionOfHash(murmur2(key as Buffer), PARTITIONS));
        return { key: String(key), metadata };
      })
      .sort((a, b) => a.metadata.comment.localeCompare(b.metadata.comment)),
    [
      { key: 'u-7', metadata: about('c-1', 'u-7') },
      { key: 'u-8', metadata: about('c-2', 'u-8') },
      { key: 'u-7', metadata: about('c-3', 'u-7') },
    ],
  );
}

async function consumerReads(
  kafka: TestKafka,
  command: ExampleCommand,
  { format, printed, exitCode }: Required<Pick<Exchange, 'format' | 'printed' | 'exitCode'>>,
): Promise<void> {
  const decisions = await kafka.createTopic('decisions');
  const deadLetters = await kafka.createTopic('dead-letters');
  const { schema, encode } = codecOf('decision', format);
  await using registry = await fakeRegistry({
    '/schemas/ids/7': { schema: schema.text, schemaType: schema.type },
  });
  const aborted = { value: decision('aborted'), headers: idHeader('aborted') };
  await kafka.writeTransaction(decisions, [aborted], 'abort');
  const plain = { value: decision('plain'), headers: idHeader('plain') };
  const framed = writeFrame(7, encode(decision('framed')));
  await kafka.writeTransaction(decisions, [
    plain,
    { value: framed, headers: idHeader('framed') },
    { value: decision('failed', FAILED), headers: idHeader('failed') },
    { value: 'no decision' },
    plain,
  ]);
  await kafka.writeTransaction(decisions, [aborted], 'abort');
  const headers = Object.entries({ ...LETTER, 'event-id': 'dead' }).map(
    ([name, value]) => [name, String(value)] as const,
  );
  await kafka.write(deadLetters, [{ value: null, headers }]);

  const lines: string[] = [];
  const consumer = await start(
    command,
    {
      ...{ KAFKA_BROKERS: kafka.brokers.join(), GROUP: uniqueName('moderation') },
      ...{ DECISIONS: decisions, DEAD_LETTERS: deadLetters, SCHEMA_REGISTRY: registry.url },
    },
    lines,
  );
  after(() => consumer.stop(0));
  await eventually('the consumer printed all records', () => lines.length >= 7, {
    deadlineMs: 60_000,
  }).catch((error: Error) => {
    throw new Error(`${error.message}: ${lines.join('\n')}`);
  });
  consumer.kill('SIGTERM');
  const { code } = await consumer.exited;
  const comparable = lines.map((line) =>
    line
      .replaceAll(/(?<=[,:"]) /g, '')
      .replace(/(unreadable|no decision,\w+|dead letter,\w+).*/, '$1'),
  );
  const { result } = EXAMPLE;
  assert.deepEqual(
    comparable.sort(),
    [
      `dead:dead letter,${LETTER['dead-letter-reason']}`,
      `${decisions}-0 5:unreadable`,
      `failed:no decision,${FAILED.error.code}`,
      `framed:${result},about ${printed}`,
      `plain:${result},about ${printed}`,
      'plain:seen before',
      'reading',
    ].sort(),
  );
  assert.equal(code, exitCode);
}

/** Loads of the table. */
import { readFileSync } from 'node:fs';
import { startRegistry } from '../../dev/registry/start.ts';
import { ConfluentRegistry } from '../../src/events/registry/index.ts';
import type { TestKafka } from '../support/kafka/kafka.ts';
import { avroType } from '../support/records/avro.ts';
import { registrySettings } from '../support/stack/registry.ts';
import {
  easyEvents,
  keyOf,
  membersOf,
  type RecordOf,
  randomOf,
  realisticEvents,
  textOf,
} from './events.ts';
import { type Load, writeAll } from './load.ts';
import { type ConnectorRound, type ConnectorSetup, connectorRound } from './rounds.ts';

export interface Scenario {
  readonly name: string;
  readonly load: Load;
  readonly reviewMs?: number;
  readonly pipeline?: ConnectorSetup['pipeline'];
  readonly config?: ConnectorSetup['config'];
}

const RECORDS = 240_000;
/** Subject of the decisions' schema. */
const DECISIONS = 'bench-decisions';
const BASE: Load = { records: RECORDS, partitions: 6, codec: 'none', record: realisticEvents() };
/** Number of characters of the content in Avro events and imports. */
const TEXT_CHARACTERS = 170;

/** @param registryUrl schema registry for Avro */
export async function scenarios(registryUrl: string): Promise<readonly Scenario[]> {
  return [
    { name: 'realistic events', load: BASE },
    { name: 'easy events', load: { ...BASE, record: easyEvents(320) } },
    { name: '1 KiB', load: { ...BASE, record: realisticEvents(1024) } },
    { name: '10 KiB', load: { ...BASE, records: 48_000, record: realisticEvents(10_240) } },
    { name: '1 partition', load: { ...BASE, partitions: 1 } },
    {
      name: '64 partitions, 16 types',
      load: { ...BASE, partitions: 64, record: realisticEvents(0, 16) },
    },
    { name: 'reviews of 2 s', load: BASE, reviewMs: 2_000 },
    { name: 'snappy', load: { ...BASE, codec: 'snappy' } },
    { name: 'zstd', load: { ...BASE, codec: 'zstd' } },
    {
      name: 'Avro in and out',
      load: { ...BASE, record: await avroPosts(registryUrl) },
      pipeline: {
        source: { format: 'avro' },
        output: { format: 'avro', subject: DECISIONS },
      },
      config: { schemaRegistry: { urls: [registryUrl] } },
    },
    {
      name: 'imports',
      load: { ...BASE, record: imports() },
      pipeline: { kind: 'import', batch: { maxRows: 5_000, maxAge: '1s' } },
    },
    {
      name: 'lookups',
      load: {
        ...BASE,
        records: 24_000,
        record: (n) => ({ key: `user-${n % 5_000}`, value: `decision-${n}` }),
      },
      pipeline: { kind: 'lookup', batch: { maxRows: 1_000, maxAge: '1s' } },
    },
  ];
}

/** @param connector node arguments */
export async function measureScenarios(
  kafka: TestKafka,
  directory: string,
  connector: readonly string[],
  print: (text: string) => void,
): Promise<void> {
  const registry = await startRegistry();
  try {
    print('| load | items/s | µs per item | MiB | first decision, s |');
    print('|---|---|---|---|---|');
    for (const { name, load, reviewMs = 0, ...rest } of await scenarios(registry.url)) {
      const topic = await kafka.createTopic('content', { partitions: load.partitions });
      await writeAll(kafka.brokers, topic, load);
      const setup = {
        topic,
        records: load.records,
        partitions: load.partitions,
        reviewMs,
        connector,
        ...rest,
      };
      const cells = await connectorRound(kafka, directory, setup).then(
        cellsOf,
        (error: Error) => `${error.message.split('\n')[0]} | | |`,
      );
      print(`| ${name} | ${cells} |`);
      await (await kafka.admin()).deleteTopics({ topics: [topic] });
    }
  } finally {
    await registry.stop();
  }
}

const cellsOf = ({ perSecond, cpuUs, peakMiB, firstDecisionSeconds }: ConnectorRound): string =>
  `${Math.round(perSecond)} | ${cpuUs.toFixed(1)} | ${Math.round(peakMiB)} | ${firstDecisionSeconds.toFixed(1)}`;

function imports(): RecordOf {
  return (n) => {
    const random = randomOf(n);
    const data = {
      ...Object.fromEntries(membersOf(n, random)),
      text: textOf(random, TEXT_CHARACTERS),
    };
    return { key: keyOf(random), value: JSON.stringify({ type: 'post', data }) };
  };
}

async function avroPosts(registryUrl: string): Promise<RecordOf> {
  const schema = {
    type: 'record',
    name: 'Post',
    fields: [
      { name: 'type', type: 'string' },
      { name: 'content', type: 'string' },
      {
        name: 'metadata',
        type: {
          type: 'record',
          name: 'About',
          fields: [
            { name: 'post_id', type: 'long' },
            { name: 'lang', type: 'string' },
            { name: 'device', type: 'string' },
            { name: 'score', type: 'double' },
            { name: 'verified', type: 'boolean' },
            { name: 'created_at', type: 'string' },
            {
              name: 'author',
              type: {
                type: 'record',
                name: 'Author',
                fields: [
                  { name: 'id', type: 'long' },
                  { name: 'name', type: 'string' },
                  { name: 'karma', type: 'int' },
                ],
              },
            },
            { name: 'tags', type: ['null', { type: 'array', items: 'string' }] },
            { name: 'reply_to', type: ['null', 'long'] },
          ],
        },
      },
    ],
  };
  const registry = new ConfluentRegistry(registrySettings([registryUrl], { timeoutMs: 60_000 }));
  const signal = AbortSignal.timeout(60_000);
  try {
    const decision = readFileSync(
      new URL('../../contracts/avro/decision.avsc', import.meta.url),
      'utf8',
    );
    await registry.register(DECISIONS, { type: 'AVRO', text: decision }, signal);
    const id = await registry.register(
      'bench-value',
      { type: 'AVRO', text: JSON.stringify(schema) },
      signal,
    );
    const type = avroType(schema);
    const head = Buffer.alloc(5);
    head.writeInt32BE(id, 1);
    return (n) => {
      const random = randomOf(n);
      const { tags, reply_to: replyTo, ...others } = Object.fromEntries(membersOf(n, random));
      // avsc requires the name of a union's branch.
      const about = {
        ...others,
        tags: tags == null ? null : { array: tags },
        reply_to: replyTo == null ? null : { long: replyTo },
      };
      const content = `${n} ${textOf(random, TEXT_CHARACTERS)}`;
      const value = type.toBuffer({ type: 'post', content, metadata: about });
      return { key: keyOf(random), value: Buffer.concat([head, value]) };
    };
  } finally {
    await registry.close();
  }
}

/** Loads beside the main one, each measured for this build and, if there is one to compare with, for another. */
import { readFileSync } from 'node:fs';
import { startRegistry } from '../../dev/registry/start.ts';
import { ConfluentRegistry } from '../../src/events/registry/index.ts';
import type { TestKafka } from '../support/kafka/kafka.ts';
import { avroType } from '../support/records/avro.ts';
import { registrySettings } from '../support/stack/registry.ts';
import { type Load, posts, textOf, write } from './load.ts';
import { type ConnectorSetup, connectorRound, type Round } from './rounds.ts';

export interface Scenario {
  readonly name: string;
  readonly load: Load;
  readonly reviewMs?: number;
  readonly pipeline?: ConnectorSetup['pipeline'];
  readonly config?: ConnectorSetup['config'];
}

const RECORDS = 240_000;
/** Subject of the schema of decisions. */
const DECISIONS = 'bench-decisions';
const BASE: Load = { records: RECORDS, partitions: 6, codec: 'none', record: posts(320, 1) };

/** @param registryUrl of a schema registry, for Avro */
export async function scenarios(registryUrl: string): Promise<readonly Scenario[]> {
  return [
    { name: '320 bytes, 6 partitions', load: BASE },
    { name: '1 KiB', load: { ...BASE, record: posts(1024, 1) } },
    { name: '10 KiB', load: { ...BASE, records: 48_000, record: posts(10_240, 1) } },
    { name: '1 partition', load: { ...BASE, partitions: 1 } },
    { name: '64 partitions', load: { ...BASE, partitions: 64 } },
    { name: '16 types', load: { ...BASE, record: posts(320, 16) } },
    { name: 'reviews of 2 s', load: BASE, reviewMs: 2_000 },
    { name: 'snappy', load: { ...BASE, codec: 'snappy' } },
    { name: 'zstd', load: { ...BASE, codec: 'zstd' } },
    {
      name: 'Avro in and out',
      load: { ...BASE, record: await avroPosts(registryUrl) },
      pipeline: {
        source: { format: 'avro' },
        output: { format: 'avro', subject: { name: DECISIONS } },
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

/** Measures scenarios, builds in turn. @param builds arguments of node by name of the build */
export async function measureScenarios(
  kafka: TestKafka,
  directory: string,
  builds: ReadonlyMap<string, readonly string[]>,
  only: (name: string) => boolean,
  print: (text: string) => void,
): Promise<void> {
  const registry = await startRegistry();
  try {
    print(
      `| load | ${[...builds.keys()].map((name) => `${name}: items/s | µs an item | MiB`).join(' | ')} |`,
    );
    print(`|---|${'---|---|---|'.repeat(builds.size)}`);
    for (const { name, load, reviewMs = 0, ...rest } of await scenarios(registry.url)) {
      if (!only(name)) continue;
      const topic = await kafka.createTopic('content', { partitions: load.partitions });
      await write(kafka.brokers, topic, load);
      const cells: string[] = [];
      for (const connector of builds.values()) {
        const setup = {
          topic,
          records: load.records,
          partitions: load.partitions,
          reviewMs,
          connector,
          ...rest,
        };
        cells.push(
          await connectorRound(kafka, directory, setup).then(
            cellsOf,
            (error: Error) => `${error.message.split('\n')[0]} | |`,
          ),
        );
      }
      print(`| ${name} | ${cells.join(' | ')} |`);
      await (await kafka.admin()).deleteTopics({ topics: [topic] });
    }
  } finally {
    await registry.stop();
  }
}

const cellsOf = ({ perSecond, cpuUs, peakMiB }: Round): string =>
  `${Math.round(perSecond)} | ${cpuUs.toFixed(1)} | ${Math.round(peakMiB)}`;

function imports(): Load['record'] {
  const text = textOf(320).replaceAll('"', '\\"');
  return (n) => ({
    key: `user-${n % 5_000}`,
    value: `{"type":"post","data":{"post_id":${n},"text":"${text}","lang":"en"}}`,
  });
}

async function avroPosts(registryUrl: string): Promise<Load['record']> {
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
    const text = textOf(320);
    const head = Buffer.alloc(5);
    head.writeInt32BE(id, 1);
    return (n) => ({
      key: `user-${n % 5_000}`,
      value: Buffer.concat([
        head,
        type.toBuffer({
          type: 'post',
          content: `${n} ${text}`,
          metadata: { post_id: n, lang: 'en' },
        }),
      ]),
    });
  } finally {
    await registry.close();
  }
}

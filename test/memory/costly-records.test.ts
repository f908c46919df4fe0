/**
 * Records that take far more memory or time to read than their size suggests, at the memory limit of the chart. The
 * process must survive and respond to its probe, and all other records must be decided.
 */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { SourceCoordinate } from '../../src/core/record.ts';
import {
  avroEvent,
  COSTLY_AVRO,
  COSTLY_PROTOBUF,
  costlyAvro,
  costlyProtobuf,
  protobufEvent,
} from '../support/hostile/binary-shapes.ts';
import {
  COSTLY_MAPPING,
  type CostlyValue,
  costlyJson,
  costlyUncompressed,
} from '../support/hostile/json-shapes.ts';
import { Livez } from '../support/hostile/livez.ts';
import { testKafka } from '../support/kafka/kafka.ts';
import { RawProducer } from '../support/kafka/raw-producer.ts';
import { rawBatch } from '../support/kafka/record-batches.ts';
import { residentMiBOf } from '../support/process-time.ts';
import { fakeRegistry } from '../support/stack/registry.ts';
import { type Replica, type Stack, startStack } from '../support/stack/stack.ts';
import { TerminalRecords } from '../support/stack/terminal-records.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

/** Maximum time until the records around a costly one are decided. */
const DECIDED_MS = 30_000;
const PARTITIONS = 2;
const MIB = 1024 * 1024;
/** Memory limit of the chart, MiB. CONNECTOR sets the heap size that V8 would choose for this limit. */
const LIMIT_MIB = 512;
const CONNECTOR = [
  '--max-semi-space-size=8',
  '--max-old-space-size=256',
  new URL('../../src/cli/main.ts', import.meta.url).pathname,
];

/** Source with its format, mapping, an ordinary value and costly values. */
interface CostlySource {
  readonly name: string;
  readonly source: Readonly<Record<string, unknown>>;
  readonly honest: Buffer;
  readonly costly: readonly CostlyValue[];
}

const HONEST = Buffer.from(
  '{"type":"post","content":"x y","metadata":{"a":1},"tags":[{"n":["b"]}]}',
);
const tags = (count: number) => Array.from({ length: count }, () => '{"n":["",""]}').join();

const SOURCES: readonly CostlySource[] = [
  { name: 'json', source: {}, honest: HONEST, costly: [...costlyJson(), costlyUncompressed()] },
  {
    name: 'expressions',
    source: { mapping: COSTLY_MAPPING },
    honest: HONEST,
    costly: [
      ...costlyJson().slice(0, 6),
      {
        name: 'a text with millions of matches',
        value: Buffer.from(`{"type":"post","content":"${' '.repeat(15_000_000)}"}`),
      },
      {
        name: 'lists that an expression joins',
        value: Buffer.from(`{"type":"post","content":"x","tags":[${tags(300_000)}]}`),
      },
    ],
  },
  {
    name: 'avro',
    source: { format: 'avro', mapping: { metadata: '@' } },
    honest: avroEvent({}),
    costly: costlyAvro(),
  },
  {
    name: 'protobuf',
    source: { format: 'protobuf', mapping: { metadata: '@' } },
    honest: protobufEvent(),
    costly: costlyProtobuf(),
  },
];

const BATCHES = new Map(
  SOURCES.flatMap(({ costly }) =>
    costly.map((one) => {
      const codec = one.value.length < MIB ? 'none' : 'zstd';
      return [one, rawBatch({ records: [{ key: 'costly', value: one.value }], codec })] as const;
    }),
  ),
);

const directory = temporaryDirectory();
const kafka = await testKafka();
const producer = new RawProducer(kafka.brokers);
const registry = await fakeRegistry({
  '/schemas/ids/1': { schema: COSTLY_AVRO },
  '/schemas/ids/2': { schema: COSTLY_PROTOBUF, schemaType: 'PROTOBUF' },
});
const SOON = {
  batch: { maxAge: '200ms' },
  review: { poll: '500ms' },
};
const [first, ...others] = SOURCES.map(({ name, source }) => ({
  partitions: PARTITIONS,
  pipeline: { name, source, ...SOON },
}));
const stack: Stack = await startStack(kafka, directory, {
  partitions: PARTITIONS,
  ...first,
  beside: others,
  connector: CONNECTOR,
  config: { schemaRegistry: { urls: [registry.url] } },
});
after(async () => {
  await producer.close();
  await stack.stop();
  await registry[Symbol.asyncDispose]();
});

const probes = new Map<Replica, Livez>();
const anyExit = Promise.withResolvers<never>();
anyExit.promise.catch(() => undefined);

async function startReplica(): Promise<void> {
  const replica = await stack.startReplica({ MALLOC_ARENA_MAX: '1' });
  probes.set(replica, new Livez(await replica.url()));
  void replica.process.exited.then(({ code, signal }) =>
    anyExit.reject(new Error(`${replica.name} ended (${code ?? signal})`)),
  );
}

const terminals = stack.pipelines.map((pipeline) => {
  const { topics, replicas } = { ...pipeline, replicas: stack.replicas };
  return { topics, terminal: new TerminalRecords(kafka, { topics, replicas }) };
});
const sent = SOURCES.map((): SourceCoordinate[] => []);

/** Writes costly records, with ordinary records after them and in other partitions. */
async function send(index: number, costly: readonly CostlyValue[]): Promise<void> {
  const { topics } = terminals[index] as (typeof terminals)[number];
  const { honest } = SOURCES[index] as CostlySource;
  const written = sent[index] as SourceCoordinate[];
  for (const [n, one] of costly.entries()) {
    const partition = n % PARTITIONS;
    const batch = BATCHES.get(one) as Buffer;
    written.push({ partition, offset: await producer.write(topics.source, partition, batch) });
    const around = [0, 1].map((partition) => ({ partition, key: 'honest', value: honest }));
    written.push(...(await kafka.write(topics.source, around)));
  }
}

async function assertDecided(index: number): Promise<void> {
  const { terminal } = terminals[index] as (typeof terminals)[number];
  const written = sent[index] as SourceCoordinate[];
  await Promise.race([terminal.untilCount(written.length, DECIDED_MS), anyExit.promise]);
  terminal.assertOnceEach(written);
  for (const { record, decision } of terminal.all)
    assert.ok(
      decision !== undefined || String(record.key) === 'costly',
      'an ordinary record became a dead letter',
    );
}

await startReplica();

for (const [index, { name, costly }] of SOURCES.entries())
  for (const one of costly)
    test(`${name}, one replica: ${one.name}`, async (t) => {
      const startedMs = performance.now();
      await send(index, [one]);
      await assertDecided(index);
      const { pid } = (stack.replicas[0] as Replica).process;
      const peak = Math.round(residentMiBOf(pid, 'VmHWM'));
      t.diagnostic(
        `${new Date().toISOString()}: ${Math.round(performance.now() - startedMs)} ms, peak ${peak} MiB`,
      );
    });

test('a second replica joins', startReplica);

for (const [index, { name, costly }] of SOURCES.entries())
  test(`${name}, two replicas: all costly records in a row`, async () => {
    await send(index, costly);
    await assertDecided(index);
  });

test('no process ended or exceeded the limit, and each probe got a response in time', async (t) => {
  for (const [{ name, process }, probe] of probes) {
    assert.equal(process.exit, undefined);
    const peak = residentMiBOf(process.pid, 'VmHWM');
    const { probes, slowestMs, failures } = await probe.stop();
    t.diagnostic(`${name}: peak ${Math.round(peak)} MiB, ${probes} probes, ${slowestMs} ms`);
    assert.deepEqual(failures, []);
    assert.ok(peak <= LIMIT_MIB, `${name}: ${peak} MiB`);
  }
});

/** Two services in one process: each pipeline uses its own, and an outage of one does not affect the other. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, test } from 'node:test';
import type { SourceCoordinate } from '../../../src/core/record.ts';
import { eventually } from '../../support/eventually.ts';
import { testKafka } from '../../support/kafka/kafka.ts';
import { type FakeService, startFakeService } from '../../support/service/fake-service.ts';
import { type LogLine, type StackPipeline, startStack } from '../../support/stack/stack.ts';
import { TerminalRecords } from '../../support/stack/terminal-records.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { tool } from '../tools/tool.ts';

const SHADOW_KEY = 'sk-live-shadow-6Yt2Mn8Kd4';
/** Content of which a few hundred records exceed the memory budget. */
const LARGE = 'x'.repeat(20_000);

const startShadow = (port = 0) =>
  startFakeService({
    port,
    apiKeys: [SHADOW_KEY],
    policy: { service: { name: 'Shadow' }, review: { default: 'flagged' } },
  });
let shadow: FakeService = await startShadow();
after(() => shadow.stop());

const directory = temporaryDirectory();
const kafka = await testKafka();
const pipeline = (name: string, service: string) => ({
  name,
  service,
  batch: { maxRows: 20, maxBytes: '512KiB', maxAge: '200ms' },
  source: { maxContent: '256KiB' },
  review: { poll: '200ms' },
});
const stack = await startStack(kafka, directory, {
  partitions: 2,
  pipeline: pipeline('live', 'default'),
  beside: [{ partitions: 2, pipeline: pipeline('compared', 'shadow') }],
  policy: { review: { default: 'fine' } },
  config: {
    memory: { budget: '2MiB' },
    services: { shadow: { baseUrl: shadow.baseUrl, apiKey: SHADOW_KEY } },
  },
});
after(() => stack.stop());

/** Writes events to a pipeline and reads its terminal records. */
class Events {
  readonly terminal: TerminalRecords;
  readonly written: SourceCoordinate[] = [];
  readonly #topic: string;

  constructor({ topics }: StackPipeline) {
    this.#topic = topics.source;
    this.terminal = new TerminalRecords(kafka, { topics, replicas: stack.replicas });
  }

  async write(count: number, content = ''): Promise<void> {
    const value = (n: number) => JSON.stringify({ type: 'post', content: `${content} ${n}` });
    const records = Array.from({ length: count }, (_, n) => ({
      partition: n % 2,
      value: value(n),
    }));
    this.written.push(...(await kafka.write(this.#topic, records)));
  }

  /** Waits until every event has its decision. @returns the results that occur */
  async decided(): Promise<string[]> {
    await this.terminal.untilCount(this.written.length, 60_000);
    this.terminal.assertOnceEach(this.written);
    return [...new Set(this.terminal.all.map(({ decision }) => String(decision?.result)))];
  }
}

const [live, compared] = stack.pipelines.map((one) => new Events(one)) as [Events, Events];
const replica = await stack.startReplica();

/** Returns whether each condition is met. */
async function conditions(): Promise<Readonly<Record<string, boolean>>> {
  const answer = await fetch(`${await replica.url()}/readyz`);
  const { conditions } = (await answer.json()) as {
    readonly conditions: readonly { readonly name: string; readonly ready: boolean }[];
  };
  assert.equal(
    answer.ok,
    conditions.every(({ ready }) => ready),
  );
  return Object.fromEntries(conditions.map(({ name, ready }) => [name, ready]));
}

test('each pipeline is reviewed by its own service, with its key', async () => {
  await live.write(30);
  await compared.write(30);
  assert.deepEqual(await live.decided(), ['fine']);
  assert.deepEqual(await compared.decided(), ['flagged']);
  for (const service of ['default', 'shadow'])
    assert.ok(
      (await replica.metric('http_requests_total', { service, operation: 'create_batch' })) > 0,
      service,
    );
  await eventually('both services are ready', async () =>
    Object.values(await conditions()).every((ready) => ready),
  );
});

test('the doctor checks each service', async () => {
  const { out } = await tool('doctor', '--config', stack.configFile);
  assert.match(out, new RegExp(`✓ service ${stack.sandboxUrl}, request for an unknown batch`));
  assert.match(
    out,
    new RegExp(`✓ services.shadow ${shadow.baseUrl}, request for an unknown batch`),
  );
});

test('a changed file and SIGHUP apply options that require no restart, and an invalid file changes nothing until it is corrected', async () => {
  const { configFile } = stack;
  const original = readFileSync(configFile, 'utf8');
  /** Replaces the file as Kubernetes does: by a link to a new directory. */
  const replace = (text: string) => {
    const target = path.join(mkdtempSync(path.join(directory, 'data-')), 'connector.yaml');
    writeFileSync(target, text);
    symlinkSync(target, `${configFile}.new`);
    renameSync(`${configFile}.new`, configFile);
    return { from: replica.lines.length };
  };
  const shown = async () => {
    const { reload, detail } = await (await fetch(`${await replica.url()}/api/state`)).json();
    return { ...reload, titles: detail.verdict.causes.map((one: { title: string }) => one.title) };
  };

  const changed = original.replace('maxRows: 20', 'maxRows: 3').concat('log: { level: debug }\n');
  const before = replace(changed.replace('kafka:', 'kafka:\n  clientId: other'));
  const { applied } = await replica.logged('configuration reloaded', before);
  const { restart } = await replica.logged('restart required', before);
  assert.equal(applied, 'pipelines[0].batch.maxRows from 20 to 3, log.level from info to debug');
  assert.equal(restart, 'kafka.clientId');
  await live.write(12);
  const full = (line: LogLine) => line.pipeline === 'live' && line.rows === 3;
  await replica.logged('batch created', { ...before, where: full });
  assert.deepEqual((await shown()).titles, ['A restart is required']);

  const invalid = replace(changed.replace('maxRows: 3', 'maxRows: none'));
  replica.process.kill('SIGHUP');
  const message = 'configuration rejected; the running one stays in effect';
  const { error } = await replica.logged(message, invalid);
  assert.match(String(error), /pipelines\[0\]\.batch\.maxRows: "none" is not allowed/);
  const rejected = await shown();
  assert.deepEqual(rejected.titles, ['The configuration file is rejected']);
  assert.equal(rejected.applied, applied);

  const mended = replace(original);
  replica.process.kill('SIGHUP');
  const { applied: reverted } = await replica.logged('configuration reloaded', mended);
  assert.match(String(reverted), /maxRows from 3 to 20, log.level from debug to info$/);
  assert.deepEqual((await shown()).titles, []);
});

test('an outage of one service is reported under its name, and pipelines of other services continue even after its batches have used up their share of memory', async () => {
  const { port } = shadow;
  await shadow.stop();
  await compared.write(200, LARGE);
  await eventually('the batches of the stopped service use up their share of memory', async () => {
    const labels = { pipeline: 'compared', reason: 'memory' };
    return (await replica.metric('shards_paused', labels)) > 0;
  });
  await eventually('only the condition of the stopped service is not met', async () => {
    const unmet = Object.entries(await conditions()).filter(([, ready]) => !ready);
    return String(unmet) === 'service:shadow,false';
  });

  await live.write(200, LARGE);
  assert.deepEqual(await live.decided(), ['fine']);
  assert.equal((await conditions())['service:shadow'], false);
  assert.equal(compared.terminal.all.length, 30);

  shadow = await startShadow(port);
  assert.deepEqual(await compared.decided(), ['flagged']);
  assert.equal(await replica.metric('dead_lettered_total'), 0);
});

test('a replica whose key for one service is wrong runs the pipelines of the other service', async () => {
  shadow.apiKeys.replace(['another']);
  const second = await stack.startReplica();
  const { pipelines } = await second.logged('running');
  assert.deepEqual(pipelines, ['live']);
  await eventually('the condition has the reason', async () => {
    const text = await (await fetch(`${await second.url()}/readyz`)).text();
    return /"api_key:shadow"[^}]*401.*takes no shards before/.test(text);
  });
  assert.ok(!second.lines.some((line) => line.includes(SHADOW_KEY)));
});

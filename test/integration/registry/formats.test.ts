/** Schema formats with a real registry and a real broker, for sources and for outputs that consumers decode. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import avsc from 'avsc';
import protobuf from 'protobufjs';
import { startRegistry } from '../../../dev/registry/start.ts';
import { ConfluentRegistry } from '../../../src/events/registry/index.ts';
import type { EvaluationReport } from '../../../src/tools/inspect/evaluate.ts';
import { schemaRegistrySuite } from '../../conformance/schema-registry.suite.ts';
import { assertContract } from '../../support/contracts.ts';
import { eventually } from '../../support/eventually.ts';
import { type ReadRecord, testKafka } from '../../support/kafka/kafka.ts';
import { headerOf } from '../../support/records/headers.ts';
import { registrySettings } from '../../support/stack/registry.ts';
import { type StackPipeline, startStack } from '../../support/stack/stack.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { tool, toolJson } from '../tools/tool.ts';
import { sourceFormatsSuite } from './source-formats.suite.ts';

const PATIENCE = { deadlineMs: 60_000 };
const EACH = 20;
const SOON = {
  batch: { maxRows: 50, maxAge: '200ms' },
  review: { poll: '500ms' },
};

const [kafka, server] = await Promise.all([testKafka(), startRegistry()]);
const registry = new ConfluentRegistry(registrySettings([server.url], { timeoutMs: 60_000 }));
after(async () => {
  await registry.close();
  await server.stop();
});

schemaRegistrySuite(
  () => registry,
  async (subject, compatibility) => {
    const answer = await fetch(`${server.url}/config/${encodeURIComponent(subject)}`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ compatibility }),
    });
    assert.equal(answer.status, 200);
  },
);
sourceFormatsSuite(kafka, server.url, registry);

/**
 * Decodes a value as a consumer does: with the schema id at its start, the schema from the
 * registry and a decoder.
 */
async function consumed(value: Buffer): Promise<Record<string, unknown>> {
  assert.equal(value[0], 0);
  const answer = await fetch(`${server.url}/schemas/ids/${value.readInt32BE(1)}`);
  const { schema, schemaType } = (await answer.json()) as { schema: string; schemaType?: string };
  const payload = value.subarray(5);
  if (schemaType === 'JSON') return JSON.parse(String(payload));
  if (schemaType !== 'PROTOBUF') return avsc.Type.forSchema(JSON.parse(schema)).fromBuffer(payload);
  assert.equal(payload[0], 0, 'index of the first message');
  const { root, package: space = '' } = protobuf.parse(schema, { keepCase: true });
  const [type] = (root.lookup(space) as protobuf.Namespace).nestedArray;
  assert.ok(type instanceof protobuf.Type);
  return type.toObject(type.decode(payload.subarray(1)), {
    longs: Number,
    enums: String,
    defaults: true,
  });
}

test('a connector starts only with registered schemas, and continues while the registry is down', async () => {
  const directory = temporaryDirectory();
  const stack = await startStack(kafka, directory, {
    partitions: 1,
    config: { schemaRegistry: { urls: [server.url] } },
    pipeline: { name: 'posts', output: { format: 'avro' }, ...SOON },
    beside: [
      {
        partitions: 1,
        pipeline: {
          name: 'users',
          kind: 'import',
          output: { format: 'protobuf', subject: 'receipts' },
          ...SOON,
        },
      },
      { partitions: 1, pipeline: { name: 'framed', output: { format: 'json-schema' }, ...SOON } },
    ],
  });
  after(() => stack.stop());
  const flags = ['--config', stack.configFile];
  const [posts, users, framed] = stack.pipelines as [StackPipeline, StackPipeline, StackPipeline];

  assert.equal((await tool('schemas', 'check', ...flags)).code, 5);
  const refused = await stack.startReplica();
  const { error } = await refused.logged('startup refused');
  assert.match(
    String(error),
    new RegExp(`not registered under subject ${posts.topics.decisions}-value.*schemas register`),
  );
  assert.deepEqual(await refused.process.exited, { code: 4, signal: null });
  assert.equal(
    await registry.version(
      `${posts.topics.decisions}-value`,
      'latest',
      new AbortController().signal,
    ),
    undefined,
  );

  const registered = await tool('schemas', 'register', ...flags);
  assert.equal(registered.code, 0, registered.err);
  assert.match(registered.out, /receipts .* registered now/);
  assert.equal((await tool('schemas', 'register', ...flags)).code, 0);
  assert.equal((await tool('schemas', 'check', ...flags)).code, 0);

  const replica = await stack.startReplica();
  await replica.logged('running');
  const metadata = '{"id":12345678901234567890,"score":1.5,"名":"🙂"}';
  const send = (pipeline: StackPipeline) =>
    kafka.write(
      pipeline.topics.source,
      Array.from({ length: EACH }, (_, n) => ({
        key: `k${n}`,
        value:
          pipeline === users
            ? JSON.stringify({ type: 'user', data: { n } })
            : `{"type":"post","content":"text ${n}","metadata":${metadata},"expected_result":"spam"}`,
      })),
    );
  const written = async (pipeline: StackPipeline, count: number): Promise<readonly ReadRecord[]> =>
    eventually(
      `${count} records of ${pipeline.name}`,
      async () => {
        const records = await kafka.readAll(pipeline.topics.decisions);
        return records.length >= count ? records : undefined;
      },
      PATIENCE,
    );
  await Promise.all(stack.pipelines.map(send));

  for (const { key, value, headers } of await written(posts, EACH)) {
    const {
      id,
      status,
      metadata: text,
      source,
      decided_at,
    } = (await consumed(value as Buffer)) as Record<string, Record<string, unknown>>;
    assert.deepEqual(
      [id, status, text, source?.key],
      [headerOf({ headers }, 'event-id'), 'SUCCESS', metadata, String(key)],
    );
    assert.equal(typeof decided_at, 'number');
  }
  for (const { value, headers } of await written(users, EACH)) {
    const { id, status, import_status, source } = await consumed(value as Buffer);
    assert.deepEqual(
      [id, status, import_status],
      [headerOf({ headers }, 'event-id'), 'STATUS_SUCCESS', 'COMPLETE'],
    );
    assert.equal((source as { topic: string }).topic, users.topics.source);
  }
  for (const { value } of await written(framed, EACH))
    assertContract('decision', await consumed(value as Buffer));

  const summaryOf = ({ name }: StackPipeline) =>
    toolJson<{ summary: string }>('explain', '0:3', ...flags, '--pipeline', name);
  for (const pipeline of [posts, framed])
    assert.match(
      (await summaryOf(pipeline)).summary,
      /^Decided: SUCCESS \w+, batch \S+, attempt 1/,
    );
  const { code, ...report } = await toolJson<EvaluationReport>('evaluate', 'posts', ...flags);
  assert.deepEqual([code, report.evaluated, report.unreadable], [0, EACH, 0]);
  assert.equal((await tool('audit', ...flags, '--pipeline', 'users')).code, 0);

  await server.kill();
  assert.equal((await summaryOf(posts)).summary, 'Decided; the decision cannot be read.');
  const { code: incomplete, out, err } = await tool('evaluate', 'posts', ...flags);
  assert.equal(incomplete, 5);
  assert.match(out, new RegExp(`^ {2}${EACH} unreadable$`, 'm'));
  assert.match(err, /^some decisions cannot be read: .*ECONNREFUSED.*\n$/);
  await Promise.all([send(posts), send(users)]);
  assert.equal((await written(posts, 2 * EACH)).length, 2 * EACH);
  assert.equal((await written(users, 2 * EACH)).length, 2 * EACH);
  assert.ok(!replica.lines.some((line) => line.includes('schema registry')));
});

/**
 * Doctor checks of a schema registry: the connection, the schema of the output, and the latest schema of the source.
 */
import assert from 'node:assert/strict';
import { after, beforeEach, test } from 'node:test';
import { schemaRegistry } from '../../../src/app/schema-registry.ts';
import { registryChecks } from '../../../src/app/tools/doctor.ts';
import { parseConfig } from '../../../src/config/load.ts';
import { RegistryUnavailable } from '../../../src/events/registry/index.ts';
import type { Diagnosis } from '../../../src/tools/doctor/check.ts';
import { serveRegistry } from '../../support/memory/registry-server.ts';
import { MemoryRegistry } from '../../support/memory/schema-registry.ts';

const SUBJECT = 'events-value';
const SIGNAL = new AbortController().signal;
let registry = new MemoryRegistry();
const server = await serveRegistry(() => registry);
after(() => server[Symbol.asyncDispose]());
beforeEach(() => {
  registry = new MemoryRegistry();
});

async function ask(): Promise<{
  output: Diagnosis | undefined;
  source: Diagnosis | undefined;
}> {
  const text = `
kafka: {brokers: "127.0.0.1:1"}
service: {baseUrl: "https://review.example", apiKey: k}
schemaRegistry: {urls: "${server.url}"}
pipelines: [{name: posts, source: {topic: events, format: avro}, output: {topic: decisions, format: avro}}]
`;
  const config = parseConfig(text, {}, { file: 'f', directory: '.' });
  const [pipeline] = config.pipelines;
  const client = schemaRegistry(config);
  assert.ok(pipeline && client);
  try {
    const checks = registryChecks(pipeline, client);
    const [output, source] = ['registry.output', 'registry.source'].map((name) =>
      checks.find((check) => check.name === name),
    );
    return { output: await output?.run(SIGNAL), source: await source?.run(SIGNAL) };
  } finally {
    await client.close();
  }
}

const EVENT = JSON.stringify({
  type: 'record',
  name: 'Event',
  fields: [{ name: 'content', type: 'string' }],
});

test('missing subjects fail the output check, with the command to run, and warn about the source', async () => {
  const { output, source } = await ask();
  assert.deepEqual(
    [output?.status, output?.remedy],
    ['failed', 'run "content-review-connector schemas register"'],
  );
  assert.match(
    output?.found ?? '',
    /is not registered under subject decisions-value, which has no schema$/,
  );
  assert.equal(source?.status, 'warning');
});

test('a source whose latest schema has the type of its format passes the check', async () => {
  await registry.register(SUBJECT, { type: 'AVRO', text: EVENT }, SIGNAL);
  const { source } = await ask();
  assert.deepEqual(source, {
    status: 'ok',
    found: 'version 1 of subject events-value is of type AVRO',
  });
});

test('a schema of another type fails the check', async () => {
  await registry.register(SUBJECT, { type: 'JSON', text: '{}' }, SIGNAL);
  const { source } = await ask();
  assert.equal(source?.status, 'failed');
  assert.equal(source?.found, 'version 1 of subject events-value is of type JSON');
});

test('a registry that rejects the credentials or does not respond fails the check, with the remedy', async () => {
  registry.failure = new RegistryUnavailable('401', 'no');
  await assert.rejects(ask(), /use credentials that may read the subject$/);
  registry.failure = new RegistryUnavailable('503', 'down');
  await assert.rejects(ask(), /check schemaRegistry and whether the registry runs$/);
});

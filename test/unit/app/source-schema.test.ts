/** Check of a source's latest schema when a connector starts. */
import assert from 'node:assert/strict';
import { after, beforeEach, test } from 'node:test';
import { eventFormat } from '../../../src/app/all-formats.ts';
import { refuseUnreadableSources } from '../../../src/app/source-schema.ts';
import type { EventFormatName } from '../../../src/config/options/source.ts';
import { ConfluentRegistry, type NewSchema } from '../../../src/events/registry/index.ts';
import { RefusedError } from '../../../src/pipeline/context/errors.ts';
import { RecordingLogger } from '../../support/memory/telemetry/recording-telemetry.ts';
import { fakeRegistry, registrySettings } from '../../support/stack/registry.ts';
import { parse } from '../config/problems-of.ts';

const server = await fakeRegistry();
const client = new ConfluentRegistry(registrySettings([server.url], { timeoutMs: 500 }));
after(async () => {
  await client.close();
  await server[Symbol.asyncDispose]();
});
beforeEach(() => {
  server.instead = undefined;
  for (const path of Object.keys(server.answers)) delete server.answers[path];
});

const register = ({ type, text }: NewSchema): void => {
  const found = { schema: text, ...(type === 'AVRO' ? {} : { schemaType: type }) };
  server.answers['/subjects/events-value/versions/latest'] = {
    subject: 'events-value',
    id: 7,
    version: 3,
    ...found,
  };
  server.answers['/schemas/ids/7'] = found;
};

async function start(
  format: EventFormatName,
  signal = new AbortController().signal,
): Promise<string[]> {
  const { pipelines } = parse(`
kafka: {brokers: [broker:9092]}
service: {baseUrl: "https://review.example", apiKey: key-1}
schemaRegistry: {urls: ["${server.url}"]}
pipelines: [{name: posts, source: {topic: events, format: ${format}}, output: {topic: decisions}}]
`);
  const logger = new RecordingLogger();
  const of = (name: EventFormatName) => eventFormat(name, client);
  await refuseUnreadableSources(pipelines, {
    registry: client,
    formatOf: of,
    logger,
    signal,
  });
  return logger.lines.map(({ level, message }) => `${level}: ${message}`);
}

test('a readable schema is logged, and a source without a schema or registry starts', async () => {
  assert.deepEqual(await start('avro'), ['info: source schema checked']);
  register({
    type: 'AVRO',
    text: '{"type":"record","name":"Event","fields":[{"name":"content","type":"string"}]}',
  });
  assert.deepEqual(await start('avro'), ['info: source schema checked']);
  register({ type: 'JSON', text: '{}' });
  assert.deepEqual(await start('json'), []);
});

test('an unusable schema is refused, with the subject, the reason and the remedy', async () => {
  const newest = 'the newest schema of its source (version 3 of subject events-value)';
  const refused = async (format: EventFormatName, schema: NewSchema, because: RegExp) => {
    register(schema);
    await assert.rejects(start(format), (error) => {
      assert.ok(error instanceof RefusedError);
      assert.ok(
        error.message.startsWith(
          `pipeline posts: ${newest} cannot be read, so its records would become dead letters: `,
        ),
      );
      assert.match(error.message, because);
      return true;
    });
  };
  await refused(
    'avro',
    { type: 'PROTOBUF', text: 'syntax = "proto3";' },
    /: it is of type PROTOBUF: set source\.format to/,
  );
  await refused(
    'protobuf',
    { type: 'PROTOBUF', text: 'edition = "2099";\nmessage A {' },
    /: schema 7 cannot be used: .*: correct the schema/,
  );
  await refused(
    'avro',
    { type: 'AVRO', text: '{"type":"no such type"}' },
    /: schema 7 cannot be used: /,
  );
});

test('the connector starts although the registry cannot return the schema', async () => {
  server.instead = (_, response) => response.writeHead(503).end();
  const unsaid = ['warn: source schema not checked; relying on the schema ids in the records'];
  assert.deepEqual(await start('avro'), unsaid);
  server.instead = (_, response) => response.writeHead(403).end('{"error_code":40301}');
  assert.deepEqual(await start('avro'), unsaid);
  await assert.rejects(start('avro', AbortSignal.abort(new Error('stopped'))), /stopped/);
});

test('the connector starts although a replica of the registry does not have the schema yet', async () => {
  register({ type: 'AVRO', text: '"bytes"' });
  delete server.answers['/schemas/ids/7'];
  assert.deepEqual(await start('avro'), [
    'warn: source schema not checked; relying on the schema ids in the records',
  ]);
});

/** Output and exit codes of `schemas check` and `schemas register`. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, beforeEach, describe, it } from 'node:test';
import { EXIT } from '../../../packages/client/src/cli/exit-codes.ts';
import { runCli } from '../../../src/cli/program.ts';
import { RegistryUnavailable } from '../../../src/events/registry/index.ts';
import { serveRegistry } from '../../support/memory/registry-server.ts';
import { MemoryRegistry } from '../../support/memory/schema-registry.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const directory = temporaryDirectory();
const FILE = path.join(directory, 'connector.yaml');
const SIGNAL = new AbortController().signal;
let registry = new MemoryRegistry();
const server = await serveRegistry(() => registry);
after(() => server[Symbol.asyncDispose]());
beforeEach(() => {
  registry = new MemoryRegistry();
});

async function schemas(args: string, pipelines = PIPELINES, urls = server.url) {
  const text = `
kafka: {brokers: "127.0.0.1:1"}
service: {baseUrl: "https://review.example", apiKey: {env: NOT_SET}}
schemaRegistry: {urls: "${urls}"}
pipelines: [${pipelines}]
`;
  await writeFile(FILE, text);
  const said = { out: '', err: '' };
  const code = await runCli(['schemas', ...args.split(' '), '--config', FILE], {
    env: {},
    out: (line) => {
      said.out += line;
    },
    err: (line) => {
      said.err += line;
    },
  });
  return { code, ...said };
}

const PIPELINES = `
  {name: posts, source: {topic: posts}, output: {format: avro}},
  {name: users, kind: import, source: {topic: users}, output: {format: protobuf, subject: receipts}},
  {name: ids, kind: lookup, source: {topic: ids}, output: {format: json-schema, subject: looked up}},
  {name: plain, source: {topic: plain}}`;

describe('schemas register', () => {
  it('registers only compatible schemas, and shows the reasons of the registry', async () => {
    await registry.register('posts.decisions-value', { type: 'AVRO', text: '"string"' }, SIGNAL);
    registry.judge = () => ({ compatible: false, messages: ['TYPE_MISMATCH at /type'] });
    const { code, out } = await schemas('register');
    assert.equal(code, EXIT.refused);
    assert.match(out, /posts .*INCOMPATIBLE/);
    assert.match(
      out,
      /incompatible with the versions of posts\.decisions-value \(latest: 1\)[\s\S]*TYPE_MISMATCH at \/type[\s\S]*another subject/,
    );
    assert.match(out, /users .*registered now/);
    assert.deepEqual(await registry.versions('posts.decisions-value', SIGNAL), [1]);
  });

  it('shows the remedy when the registry is read-only, rejects the credentials, or is unreachable', async () => {
    registry.readOnly = true;
    const readOnly = await schemas('register --pipeline posts');
    assert.deepEqual([readOnly.code, readOnly.out], [EXIT.refused, '']);
    assert.match(
      readOnly.err,
      /pipeline posts, subject posts\.decisions-value: .*to READWRITE during/,
    );

    registry.failure = new RegistryUnavailable('401', '');
    const refused = await schemas('register');
    assert.equal(refused.code, EXIT.refused);
    assert.match(refused.err, /credentials that may read and write the subject/);

    const gone = await schemas('register', PIPELINES, 'http://127.0.0.1:1');
    assert.equal(gone.code, EXIT.unreachable);
    assert.match(
      gone.err,
      /no connection to the registry \(ECONNREFUSED\); addresses tried: http:\/\/127\.0\.0\.1:1\b/,
    );
  });
});

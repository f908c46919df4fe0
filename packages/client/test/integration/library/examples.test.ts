/** The examples of packages/client/README.md, run unchanged. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import test, { type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { startSandbox } from '../../../../sandbox/src/sandbox.ts';
import { httpServer, json, KEY } from '../service/servers.ts';

const ENTRY = new URL('../../../src/index.ts', import.meta.url).href;
const DOCUMENT = new URL('../../../README.md', import.meta.url);

/** Runs the example below a heading in its own process and directory. @returns its output */
async function run(
  t: TestContext,
  heading: string,
  environment: Record<string, string>,
): Promise<string> {
  const section =
    (await readFile(DOCUMENT, 'utf8')).split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';
  const example = /```ts\n(.*?)```/s.exec(section)?.[1] ?? '';
  assert.ok(example.includes("'content-review-client'"), `no example below "${heading}"`);
  const directory = await mkdtemp(path.join(tmpdir(), 'client-example-'));
  t.after(() => rm(directory, { recursive: true }));
  const file = path.join(directory, 'example.mts');
  await writeFile(file, example.replace("'content-review-client'", `'${ENTRY}'`));
  const env = { ...process.env, API_KEY: KEY, ...environment };
  const { stdout } = await promisify(execFile)(process.execPath, [file], {
    cwd: directory,
    env,
    timeout: 100_000,
  });
  return stdout;
}

test('batches, against the sandbox', async (t) => {
  const sandbox = await startSandbox({ apiKeys: [KEY] });
  t.after(() => sandbox.stop());
  const printed = await run(t, 'Batches', { BASE_URL: sandbox.baseUrl });
  assert.match(
    printed,
    /^SUCCESS\nContent,Status,.*\n"Buy now, cheap!",SUCCESS,.*,u-7\nGood morning,SUCCESS,.*,u-8\n/,
  );
});

test('imports, against the sandbox', async (t) => {
  const sandbox = await startSandbox({ apiKeys: [KEY] });
  t.after(() => sandbox.stop());
  assert.equal(await run(t, 'Imports', { BASE_URL: sandbox.baseUrl }), 'COMPLETE\n');
});

test('decisions, against a scripted server', async (t) => {
  const decision = {
    decision_id: 'd-1',
    decision_status: 'SUCCESS',
    metadata: {},
    result: 'remove',
    labels: [{ name: 'spam' }],
  };
  const server = await httpServer(t, (response, { url }) => {
    if (url === '/v1/decisions/d-1') json(response, 200, decision);
    else json(response, 404, {});
  });
  const BASE_URL = server.url;
  assert.equal(
    await run(t, 'Decisions', { BASE_URL, DECISION_ID: 'd-1' }),
    'SUCCESS remove [{"name":"spam","applied":true,"explanation":null}]\n',
  );
  assert.equal(await run(t, 'Decisions', { BASE_URL, DECISION_ID: 'd-2' }), 'no such decision\n');
});

/**
 * Proves that the built package works from its own files: its version, `check`, and a connector that serves the
 * console with all its files while no broker responds. Also proves that the packages of the client library and of the
 * consumer work without the connector. Needs `npm run build`, but neither Kafka nor the network.
 *
 *   node dev/container/prove-package.ts
 */
import assert from 'node:assert/strict';
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { unpackPackage } from './packed.ts';

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url));
const PATIENCE_MS = 30_000;
/** Maximum size of the client library with its dependencies. The connector takes 49 MB. */
const MAX_CLIENT_MB = 20;
/** Address without a listener. */
const NO_BROKER = '127.0.0.1:1';
const run = promisify(execFile);

/** Environment without the variables of npm and the caller. */
const env = { PATH: process.env.PATH, CONTENT_REVIEW_API_KEY: 'key' };

/** Reads a connector's address from its log. */
async function addressOf(connector: ChildProcess): Promise<string> {
  const said: string[] = [];
  const lines = createInterface({ input: connector.stdout as NonNullable<ChildProcess['stdout']> });
  for await (const line of lines) {
    said.push(line);
    const { url } = JSON.parse(line);
    if (url !== undefined) return url;
  }
  throw new Error(`the connector ended without an address:\n${said.join('\n')}`);
}

async function get(url: string): Promise<string> {
  const response = await fetch(url, { signal: AbortSignal.timeout(PATIENCE_MS) });
  const text = await response.text();
  assert.equal(
    response.status,
    200,
    `${url} responds with ${response.status}: ${text.slice(0, 200)}`,
  );
  return text;
}

/** Loads the page, and all files to which it and its scripts refer, as a browser does. @returns their number */
async function loadPage(url: string): Promise<number> {
  const loaded = new Set<string>();
  const load = async (name: string): Promise<void> => {
    if (loaded.has(name)) return;
    loaded.add(name);
    const text = await get(new URL(name, url).href);
    const named = [
      ...[...text.matchAll(/(?:src|href)="(console\/[^"]+)"/g)].map(([, found = '']) => found),
      ...[...text.matchAll(/^import .*'\.\/([^']+)';$|^} from '\.\/([^']+)';$/gm)].map(
        ([, one, other]) => `console/${one ?? other}`,
      ),
    ];
    await Promise.all(named.map(load));
  };
  await load('');
  return loaded.size;
}

/**
 * The registry library depends on protobufjs 7, and overrides of a package do not apply to its
 * users. So the package bundles the library, with one protobufjs for both.
 */
function proveOneProtobufjs(root: string): void {
  const modules = path.join(root, 'node_modules');
  const found = readdirSync(modules, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /(^|node_modules\/)protobufjs\/package\.json$/.test(name),
  );
  assert.deepEqual(found, ['protobufjs/package.json']);
  const library = path.join(modules, '@kafkajs/confluent-schema-registry/package.json');
  const { dependencies } = JSON.parse(readFileSync(library, 'utf8'));
  assert.equal(dependencies.protobufjs, '*', 'a range that npm accepts for the bundled protobufjs');
}

async function prove(directory: string): Promise<void> {
  const { root, fileCount } = unpackPackage(REPOSITORY, REPOSITORY, directory, proveOneProtobufjs);
  const main = path.join(root, 'dist/src/cli/main.js');
  const configFile = path.join(directory, 'connector.yaml');
  writeFileSync(
    configFile,
    `kafka: { brokers: '${NO_BROKER}' }
service: { baseUrl: 'https://review.example.com', apiKey: { env: CONTENT_REVIEW_API_KEY } }
pipelines: [{ name: proof, source: { topic: content-events } }]
http: { port: 0 }
`,
  );
  const { version } = JSON.parse(readFileSync(path.join(REPOSITORY, 'package.json'), 'utf8'));
  const { stdout } = await run(process.execPath, [main, '--version'], { env });
  assert.equal(stdout.trim(), version, '--version');
  await run(process.execPath, [main, 'check', '--config', configFile], { env });
  const words = [main, 'run', '--config', path.basename(configFile)];
  const connector = spawn(process.execPath, words, {
    cwd: directory,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const closed = once(connector, 'close');
  try {
    const url = await addressOf(connector);
    connector.stdout.resume();
    const served = await loadPage(url);
    await get(`${url}/livez`);
    await get(`${url}/api/state`);
    connector.kill('SIGTERM');
    const [code] = await closed;
    assert.equal(code, 0, 'exit code after SIGTERM');
    process.stdout.write(
      `the package of ${fileCount} files works by itself: --version, check, the console's ${served} files, /livez\n`,
    );
  } finally {
    connector.kill('SIGKILL');
    await closed;
  }
}

/** Returns the size of all files below a folder in MB. */
function sizeMb(folder: string): number {
  const bytes = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => statSync(path.join(folder, name)))
    .reduce((sum, file) => sum + (file.isFile() ? file.size : 0), 0);
  return Math.round(bytes / 1e6);
}

/** Packs a library into its own directory, and runs a module that imports it. @returns the output, and the size in MB */
async function runWith(library: string, directory: string, script: string) {
  mkdirSync(directory);
  const { root } = unpackPackage(REPOSITORY, path.join(REPOSITORY, 'packages', library), directory);
  const words = ['--input-type=module', '--eval', script];
  const { stdout } = await run(process.execPath, words, { env, cwd: root });
  return { stdout, size: sizeMb(root) };
}

async function proveClient(directory: string): Promise<void> {
  const script = `import { ContentReviewClient } from 'content-review-client';
    const client = new ContentReviewClient({ baseUrl: 'https://review.example', apiKey: 'key' });
    await client.close();`;
  const { size } = await runWith('client', directory, script);
  assert.ok(size <= MAX_CLIENT_MB, `the client library takes ${size} MB`);
  process.stdout.write(`the client library works by itself, in ${size} MB\n`);
}

async function proveConsumer(directory: string): Promise<void> {
  const script = `import { consumeDecisions } from 'content-review-consumer';
    const options = { brokers: ['${NO_BROKER}'], group: 'g', decisions: 'd', process() {}, log() {} };
    const error = await consumeDecisions(options).catch((error) => error);
    process.stdout.write(error.message);`;
  const { stdout, size } = await runWith('consumer', directory, script);
  assert.match(stdout, /^cannot join group g at 127\.0\.0\.1:1: /);
  process.stdout.write(`the consumer works by itself, in ${size} MB\n`);
}

const directory = mkdtempSync(path.join(tmpdir(), 'package-'));
try {
  await prove(directory);
  await proveClient(path.join(directory, 'client'));
  await proveConsumer(path.join(directory, 'consumer'));
} finally {
  rmSync(directory, { recursive: true, force: true });
}

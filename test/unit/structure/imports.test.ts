/** Layers of src and packages: which folders and npm packages each folder may import. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/**
 * Rooms (folders) of src and packages from the lowest layer to the highest, and their allowed
 * imports: earlier rooms of this table, or single folders and files in them, npm packages, and
 * `node:*` for all built-ins. `client/http` is packages/client/src/http. Imports within a room are
 * allowed, except from folders with their own row.
 */
const LAYERS: Readonly<Record<string, readonly string[]>> = {
  'client/base': [
    ...['node:async_hooks', 'node:buffer', 'node:fs', 'node:fs/promises', 'node:module'],
    ...['node:timers/promises', 'node:util'],
  ],
  'client/http': ['client/base', 'undici', 'node:*'],
  'client/service': ['client/base', 'client/http', 'valibot', 'node:*'],
  'client/results': ['client/base', 'client/service', 'node:*'],
  client: ['client/base', 'client/http', 'client/service', 'node:*'],
  'client/cli': ['client/base', 'node:*'],
  'client/commands': [
    ...['client', 'client/base', 'client/cli', 'client/service/contract.ts', 'node:*'],
  ],
  sandbox: [
    ...['client/base', 'client/service/contract.ts', 'csv-parse', 'csv-stringify', 'yaml'],
    ...['valibot', 'node:*'],
  ],
  core: ['client/base', 'valibot', 'node:async_hooks'],
  events: [
    ...['client/base', 'core', '@jmespath-community/jmespath', 'node:buffer', 'node:crypto'],
  ],
  'events/registry': [
    ...[
      'client/base',
      'client/http',
      'core',
      '@kafkajs/confluent-schema-registry',
      'p-limit',
      'node:*',
    ],
  ],
  'events/formats': [
    ...['client/base', 'core', 'events', 'events/registry'],
    ...['@kafkajs/confluent-schema-registry', 'avsc', 'protobufjs', 'node:*'],
  ],
  kinds: [
    ...['client/base', 'client/results', 'client/service', 'core', 'events'],
    ...['node:buffer', 'node:crypto', 'node:timers/promises', 'node:worker_threads'],
  ],
  kafka: ['client/base', 'client/http', 'core', 'kafkajs', 'p-limit', 'node:*'],
  'pipeline/limits': ['client/base', 'core', 'p-limit'],
  'pipeline/context': ['client/base', 'core', 'pipeline/limits'],
  'pipeline/source': ['client/base', 'core', 'pipeline/limits', 'pipeline/context'],
  'pipeline/stages': [
    'client/base',
    'core',
    'pipeline/limits',
    'pipeline/context',
    'pipeline/source',
  ],
  'pipeline/shard': [
    ...['client/base', 'core', 'pipeline/limits', 'pipeline/context'],
    ...['pipeline/source', 'pipeline/stages'],
  ],
  pipeline: [
    ...['client/base', 'core', 'pipeline/limits', 'pipeline/context', 'pipeline/shard'],
    'p-limit',
  ],
  config: ['client/base', 'core', 'events/expression', 'client/http', 'yaml', 'node:*'],
  telemetry: [
    ...['client/base', 'core', 'pino', 'prom-client', 'node:*', 'preact', '@opentelemetry/api'],
    ...['@opentelemetry/exporter-metrics-otlp-proto', '@opentelemetry/resources'],
    '@opentelemetry/sdk-metrics',
  ],
  'tools/inspect': ['client/base', 'core', 'valibot'],
  'tools/doctor': [
    ...['client/base', 'core', 'kafka', 'pipeline/context', 'pipeline/shard', 'tools/inspect'],
  ],
  consumer: [
    ...[
      'client/base',
      'client/http',
      'contracts/index.js',
      'core',
      'events/formats',
      'events/registry',
    ],
    ...['kafka', 'node:*'],
  ],
  app: [
    ...['client/base', 'client', 'client/http', 'client/service', 'core', 'config', 'events'],
    ...['events/formats', 'events/registry', 'kafka', 'kinds', 'pipeline', 'pipeline/limits'],
    ...['pipeline/context', 'telemetry'],
    ...['tools/inspect', 'tools/doctor', 'aws-msk-iam-sasl-signer-js', 'node:*'],
  ],
  cli: [
    ...[
      'client/base',
      'core/journal/control.ts',
      'core/outcome/dead-letter-reason.ts',
      'core/record.ts',
      'app',
      'client',
      'client/cli',
      'client/commands',
      'config',
      // Allowed only for the command `sandbox`, as a test below checks.
      'sandbox',
      'telemetry',
      'valibot',
    ],
    ...['tools/inspect', 'tools/doctor', 'commander', 'node:*'],
  ],
};

const ROOMS = Object.keys(LAYERS);

const below = (file: string, folder: string): boolean =>
  file === folder || file.startsWith(`${folder}/`);

/** Returns the name of a file in the table. @param file path from the root */
const named = (file: string): string =>
  file.replace(/^src\//, '').replace(/^packages\/(\w+)\/src\//, '$1/');

const SOURCES = globSync(['src/**/*.ts', 'packages/*/src/**/*.ts'], { cwd: ROOT }).map((file) =>
  file.split(path.sep).join('/'),
);

/** Returns the most specific room of a file. @param file name in the table */
const roomOf = (file: string): string | undefined =>
  ROOMS.filter((room) => below(file, room)).sort((a, b) => b.length - a.length)[0];

const SPECIFIER =
  /(?:^(?:import|export)\b[^;'"]*\bfrom\s*|^import\s*|\b(?:import|getBuiltinModule)\(\s*)'([^'\n]+)'/gm;

const packageOf = (specifier: string): string =>
  specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');

/** Returns the reason why an import is not allowed, or undefined. */
function refused(file: string, specifier: string): string | undefined {
  const room = roomOf(named(file));
  if (room === undefined) return `${file} does not belong to a room of the table`;
  const allowed = LAYERS[room] ?? [];
  if (!specifier.startsWith('.')) {
    const granted = isBuiltin(specifier)
      ? allowed.includes('node:*') || allowed.includes(specifier)
      : allowed.includes(packageOf(specifier));
    return granted ? undefined : `${file} imports ${specifier}: not in the row of ${room}`;
  }
  const target = named(path.posix.join(path.posix.dirname(file), specifier));
  const other = roomOf(target);
  const granted =
    other === room ||
    allowed.some((entry) => (entry === other || !ROOMS.includes(entry)) && below(target, entry));
  return granted ? undefined : `${file} imports ${target}: not in the row of ${room}`;
}

function importsOf(file: string): string[] {
  const text = readFileSync(path.join(ROOT, file), 'utf8');
  return [...text.matchAll(SPECIFIER)].map(([, specifier = '']) => specifier);
}

test('each file of src and packages has only imports that the table allows for its room', () => {
  assert.ok(SOURCES.length > 100);
  const problems = SOURCES.flatMap((file) =>
    importsOf(file).flatMap((specifier) => refused(file, specifier) ?? []),
  );
  assert.deepEqual(problems, []);
});

test('each row of the table refers only to rows above it, so rooms have no import cycles', () => {
  for (const [index, room] of ROOMS.entries())
    for (const entry of LAYERS[room] ?? []) {
      const at = ROOMS.indexOf(entry);
      assert.ok(at < index, `${room} imports ${entry}, which is below it`);
    }
});

/** Yields imports as arrows between sibling folders: `a/b/x.ts` → `a/c/d/y.ts` is b → c in a. */
function* folderArrows(): Generator<readonly [parent: string, from: string, to: string]> {
  for (const file of SOURCES)
    for (const specifier of importsOf(file).filter((name) => name.startsWith('.'))) {
      const folderOf = (one: string) => path.posix.dirname(named(one)).split('/');
      const from = folderOf(file);
      const to = folderOf(path.posix.join(path.posix.dirname(file), specifier));
      const depth = from.findIndex((folder, index) => folder !== to[index]);
      const [one, other] = [from[depth], to[depth]];
      if (one !== undefined && other !== undefined)
        yield [from.slice(0, depth).join('/'), one, other];
    }
}

test('sibling folders have no import cycles', () => {
  const arrows = new Map<string, Set<string>>();
  for (const [parent, one, other] of folderArrows()) {
    const from = path.posix.join(parent, one);
    arrows.set(from, (arrows.get(from) ?? new Set()).add(path.posix.join(parent, other)));
  }
  const reaches = (from: string, to: string, seen = new Set<string>()): boolean =>
    [...(arrows.get(from) ?? [])].some((next) => {
      if (next === to) return true;
      if (seen.has(next)) return false;
      seen.add(next);
      return reaches(next, to, seen);
    });
  assert.ok(arrows.size > 20);
  assert.deepEqual(
    [...arrows.keys()].filter((folder) => reaches(folder, folder)),
    [],
  );
});

test('in src only the sandbox command imports the sandbox, and only when it runs', () => {
  const importing = SOURCES.filter(
    (file) => below(file, 'src') && importsOf(file).some((name) => name.includes('/sandbox/src/')),
  );
  assert.deepEqual(importing, ['src/cli/commands/sandbox.ts']);
  const text = readFileSync(path.join(ROOT, 'src/cli/commands/sandbox.ts'), 'utf8');
  assert.doesNotMatch(text, /from '[^']*\/sandbox\/src\//);
});

test('dev imports only from src, packages and dev', () => {
  for (const file of globSync('dev/**/*.ts', { cwd: ROOT })) {
    const text = readFileSync(path.join(ROOT, file), 'utf8');
    for (const [, specifier = ''] of text.matchAll(SPECIFIER)) {
      if (!specifier.startsWith('.')) continue;
      const target = path.posix.join(path.posix.dirname(file), specifier);
      assert.match(target, /^(src|dev|packages\/\w+\/src)\//, `${file} imports ${target}`);
    }
  }
});

/** Matches a value import, re-export or call that loads kafkajs, directly or through internals.ts. */
const LOADS_KAFKAJS =
  /^(?:import|export)\b(?! type\b)[^;'"()]*'(?:kafkajs(?:\/[^']*)?|[^']*\/internals\.ts)'|\('(?:kafkajs['/]|[^']*\/internals\.ts')/m;

test('only src/kafka/kafkajs loads kafkajs, so that it is never loaded without the patches', () => {
  const loading = SOURCES.filter((file) =>
    LOADS_KAFKAJS.test(readFileSync(path.join(ROOT, file), 'utf8')),
  );
  assert.ok(loading.length > 0);
  assert.deepEqual(
    loading.filter((file) => !below(file, 'src/kafka/kafkajs')),
    [],
  );
});

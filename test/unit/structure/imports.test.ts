/** Layers of src and packages: which folder may import which, and where each package is used. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/**
 * Rooms of src and of the packages (`client/http` is packages/client/src/http) from the bottom to
 * the top, and the only imports each may have: rooms above it in
 * this table (a path means that folder or file alone), packages, and `node:*` for all built-ins.
 * A room's own folders are free unless they have a row of their own.
 */
const LAYERS: Readonly<Record<string, readonly string[]>> = {
  'client/base': [
    ...['node:async_hooks', 'node:buffer', 'node:fs', 'node:fs/promises', 'node:module'],
    'node:timers/promises',
  ],
  'client/http': ['client/base', 'undici', 'node:*'],
  'client/service': ['client/base', 'client/http', 'valibot', 'node:*'],
  'client/results': ['client/base', 'client/service', 'node:*'],
  client: ['client/base', 'client/http', 'client/service', 'client/results', 'node:*'],
  'client/cli': ['client/base', 'client', 'node:*'],
  sandbox: [
    ...['client/base', 'client/service/contract.ts', 'csv-parse', 'csv-stringify', 'yaml'],
    ...['valibot', 'node:*'],
  ],
  core: ['client/base', 'valibot', 'node:async_hooks'],
  contracts: ['client/base', 'core'],
  events: ['client/base', 'core', '@jmespath-community/jmespath', 'node:buffer'],
  'events/registry': [
    ...['client/base', 'core', '@kafkajs/confluent-schema-registry', 'p-limit', 'node:*'],
  ],
  'events/formats': [
    ...['client/base', 'core', 'contracts', 'events', 'events/registry'],
    ...['@kafkajs/confluent-schema-registry', 'avsc', 'protobufjs', 'node:*'],
  ],
  kinds: [
    ...['client/base', 'client/results', 'client/service/contract.ts', 'core', 'events'],
    ...['node:buffer', 'node:crypto', 'node:timers/promises', 'node:worker_threads'],
  ],
  kafka: ['client/base', 'core', 'kafkajs', 'p-limit', 'node:*'],
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
    ...['client/base', 'core', 'pino', 'prom-client', 'node:*', '@opentelemetry/api', 'preact'],
  ],
  'tools/inspect': ['client/base', 'core', 'node:crypto'],
  'tools/doctor': [
    ...['client/base', 'core', 'kafka', 'pipeline/context', 'pipeline/shard', 'tools/inspect'],
  ],
  consumer: [
    ...['client/base', 'client/http', 'core', 'contracts', 'events/formats', 'events/registry'],
    ...['kafka', 'node:*'],
  ],
  app: [
    ...['client/base', 'client/http', 'client/service', 'core', 'config', 'events'],
    ...['events/formats', 'events/registry', 'kafka', 'kinds', 'pipeline', 'pipeline/limits'],
    ...['pipeline/context', 'telemetry'],
    ...['tools/inspect', 'tools/doctor', 'node:*'],
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
      'config',
      // For the command `sandbox` alone, as a test below has it.
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

/** Name of a file in the table, by its path from the root. */
const named = (file: string): string =>
  file.replace(/^src\//, '').replace(/^packages\/(\w+)\/src\//, '$1/');

const SOURCES = globSync(['src/**/*.ts', 'packages/*/src/**/*.ts'], { cwd: ROOT }).map((file) =>
  file.split(path.sep).join('/'),
);

/** @returns the most specific room that holds a file, by its name in the table */
const roomOf = (file: string): string | undefined =>
  ROOMS.filter((room) => below(file, room)).sort((a, b) => b.length - a.length)[0];

const SPECIFIER =
  /(?:^(?:import|export)\b[^;'"]*\bfrom\s*|^import\s*|\b(?:import|getBuiltinModule)\(\s*)'([^'\n]+)'/gm;

const packageOf = (specifier: string): string =>
  specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');

/** @returns the reason why the import is refused, or undefined */
function refused(file: string, specifier: string): string | undefined {
  const room = roomOf(named(file));
  if (room === undefined) return `${file} is in no room of the table`;
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

test('each file of src and packages imports only what the table grants its room', () => {
  assert.ok(SOURCES.length > 100);
  const problems = SOURCES.flatMap((file) =>
    importsOf(file).flatMap((specifier) => refused(file, specifier) ?? []),
  );
  assert.deepEqual(problems, []);
});

test('each row of the table names only rows above it, so no circle of rooms can arise', () => {
  for (const [index, room] of ROOMS.entries())
    for (const entry of LAYERS[room] ?? []) {
      const at = ROOMS.indexOf(entry);
      assert.ok(at < index, `${room} imports ${entry}, which stands below it`);
    }
});

/** Folders that a file's imports lead to, each with its siblings: `a/b/x.ts` → `a/c/d/y.ts` is b → c of a. */
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

test('no circle leads through folders that stand side by side', () => {
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

test('of src, only the command that runs the sandbox imports it, when it is called', () => {
  const importing = SOURCES.filter(
    (file) => below(file, 'src') && importsOf(file).some((name) => name.includes('/sandbox/src/')),
  );
  assert.deepEqual(importing, ['src/cli/commands/sandbox.ts']);
  const text = readFileSync(path.join(ROOT, 'src/cli/commands/sandbox.ts'), 'utf8');
  assert.doesNotMatch(text, /from '[^']*\/sandbox\/src\//);
});

test('dev imports only src, packages and itself', () => {
  for (const file of globSync('dev/**/*.ts', { cwd: ROOT })) {
    const text = readFileSync(path.join(ROOT, file), 'utf8');
    for (const [, specifier = ''] of text.matchAll(SPECIFIER)) {
      if (!specifier.startsWith('.')) continue;
      const target = path.posix.join(path.posix.dirname(file), specifier);
      assert.match(target, /^(src|dev|packages\/\w+\/src)\//, `${file} imports ${target}`);
    }
  }
});

/** A value import, re-export or call that loads kafkajs, also through the internals. */
const LOADS_KAFKAJS =
  /^(?:import|export)\b(?! type\b)[^;'"()]*'(?:kafkajs(?:\/[^']*)?|[^']*\/internals\.ts)'|\('(?:kafkajs['/]|[^']*\/internals\.ts')/m;

test('only src/kafka/kafkajs loads kafkajs; every other file takes its types alone, or it would load without the patches', () => {
  const loading = SOURCES.filter((file) =>
    LOADS_KAFKAJS.test(readFileSync(path.join(ROOT, file), 'utf8')),
  );
  assert.ok(loading.length > 0);
  assert.deepEqual(
    loading.filter((file) => !below(file, 'src/kafka/kafkajs')),
    [],
  );
});

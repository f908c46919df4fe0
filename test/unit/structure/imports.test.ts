/** Layers of src: which folder may import which, and where each package is used. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/**
 * Rooms of src from the bottom to the top, and the only imports each may have: rooms above it in
 * this table (a path means that folder or file alone), packages, and `node:*` for all built-ins.
 * A room's own folders are free unless they have a row of their own.
 */
const LAYERS: Readonly<Record<string, readonly string[]>> = {
  base: ['node:buffer', 'node:fs', 'node:fs/promises', 'node:timers/promises'],
  core: ['base', 'valibot', 'node:async_hooks'],
  contracts: ['base', 'core'],
  events: ['base', 'core', '@jmespath-community/jmespath', 'node:buffer'],
  'events/registry': [
    ...['base', 'core', '@kafkajs/confluent-schema-registry', 'p-limit', 'node:*'],
  ],
  'events/formats': [
    ...['base', 'core', 'contracts', 'events', 'events/registry'],
    ...['@kafkajs/confluent-schema-registry', 'avsc', 'protobufjs', 'node:*'],
  ],
  http: ['base', 'core', 'p-limit', 'undici', 'node:*'],
  service: ['base', 'core', 'http', 'valibot', 'node:*'],
  kinds: [
    ...['base', 'core', 'events', 'service/contract.ts'],
    ...['node:buffer', 'node:crypto', 'node:timers/promises', 'node:worker_threads'],
  ],
  kafka: ['base', 'core', 'kafkajs', 'p-limit', 'node:*'],
  'pipeline/limits': ['base', 'core'],
  'pipeline/context': ['base', 'core', 'pipeline/limits', 'p-limit'],
  'pipeline/publish': ['base', 'core', 'pipeline/limits', 'pipeline/context'],
  'pipeline/source': [
    ...['base', 'core', 'pipeline/limits', 'pipeline/context', 'pipeline/publish'],
  ],
  'pipeline/stages': [
    ...['base', 'core', 'pipeline/limits', 'pipeline/context', 'pipeline/publish'],
    'pipeline/source',
  ],
  'pipeline/shard': [
    ...['base', 'core', 'pipeline/limits', 'pipeline/context', 'pipeline/publish'],
    ...['pipeline/source', 'pipeline/stages'],
  ],
  pipeline: [
    ...['base', 'core', 'pipeline/limits', 'pipeline/context', 'pipeline/publish'],
    ...['pipeline/shard', 'p-limit'],
  ],
  config: ['base', 'core', 'events/expression', 'http', 'yaml', 'node:*'],
  telemetry: [...['base', 'core', 'pino', 'prom-client', 'node:*', '@opentelemetry/api', 'preact']],
  'tools/inspect': ['base', 'core', 'node:crypto'],
  'tools/evaluate': ['base', 'core', 'tools/inspect'],
  'tools/doctor': [
    ...['base', 'core', 'kafka', 'pipeline/context', 'pipeline/shard', 'tools/inspect'],
  ],
  client: ['base', 'core', 'http', 'service', 'kinds/review', 'csv-parse', 'node:*'],
  consumer: [
    ...['base', 'core', 'contracts', 'events/formats', 'events/registry', 'http', 'kafka'],
    'node:*',
  ],
  app: [
    ...['base', 'core', 'config', 'events', 'events/formats', 'events/registry', 'http', 'kafka'],
    ...['kinds', 'pipeline', 'pipeline/limits', 'pipeline/context', 'service', 'telemetry'],
    ...['tools/inspect', 'tools/doctor', 'node:*'],
  ],
  sandbox: [
    ...['base', 'service/contract.ts', 'csv-parse', 'csv-stringify', 'yaml', 'valibot', 'node:*'],
  ],
  cli: [
    ...[
      'base',
      'core/journal/control.ts',
      'core/outcome/dead-letter-reason.ts',
      'core/record.ts',
      'app',
      'client',
      'config',
      'sandbox',
      'telemetry',
      'valibot',
    ],
    ...['tools/inspect', 'tools/evaluate', 'tools/doctor', 'commander', 'node:*'],
  ],
};

const ROOMS = Object.keys(LAYERS);

const below = (file: string, folder: string): boolean =>
  file === folder || file.startsWith(`${folder}/`);

/** @returns the most specific room that holds a file, given below src */
const roomOf = (file: string): string | undefined =>
  ROOMS.filter((room) => below(file, room)).sort((a, b) => b.length - a.length)[0];

const SPECIFIER =
  /(?:^(?:import|export)\b[^;'"]*\bfrom\s*|^import\s*|\b(?:import|getBuiltinModule)\(\s*)'([^'\n]+)'/gm;

const packageOf = (specifier: string): string =>
  specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');

/** @returns the reason why the import is refused, or undefined */
function refused(file: string, specifier: string): string | undefined {
  const room = roomOf(file);
  if (room === undefined) return `src/${file} is in no room of the table`;
  const allowed = LAYERS[room] ?? [];
  if (!specifier.startsWith('.')) {
    const granted = isBuiltin(specifier)
      ? allowed.includes('node:*') || allowed.includes(specifier)
      : allowed.includes(packageOf(specifier));
    return granted ? undefined : `src/${file} imports ${specifier}: not in the row of ${room}`;
  }
  const target = path.posix.join(path.posix.dirname(file), specifier);
  const other = roomOf(target);
  const granted =
    other === room ||
    allowed.some((entry) => (entry === other || !ROOMS.includes(entry)) && below(target, entry));
  return granted ? undefined : `src/${file} imports ${target}: not in the row of ${room}`;
}

function importsOf(file: string): string[] {
  const text = readFileSync(path.join(ROOT, 'src', file), 'utf8');
  return [...text.matchAll(SPECIFIER)].map(([, specifier = '']) => specifier);
}

test('each file of src imports only what the table grants its room', () => {
  const files = globSync('**/*.ts', { cwd: path.join(ROOT, 'src') });
  assert.ok(files.length > 100);
  const problems = files.flatMap((file) =>
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
  for (const file of globSync('**/*.ts', { cwd: path.join(ROOT, 'src') }))
    for (const specifier of importsOf(file).filter((name) => name.startsWith('.'))) {
      const from = path.posix.dirname(file).split('/');
      const to = path.posix
        .join(path.posix.dirname(file), path.posix.dirname(specifier))
        .split('/');
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

test('dev imports only src and itself', () => {
  for (const file of globSync('dev/**/*.ts', { cwd: ROOT })) {
    const text = readFileSync(path.join(ROOT, file), 'utf8');
    for (const [, specifier = ''] of text.matchAll(SPECIFIER)) {
      if (!specifier.startsWith('.')) continue;
      const target = path.posix.join(path.posix.dirname(file), specifier);
      assert.ok(below(target, 'src') || below(target, 'dev'), `${file} imports ${target}`);
    }
  }
});

/** A value import, re-export or call that loads kafkajs, also through the internals. */
const LOADS_KAFKAJS =
  /^(?:import|export)\b(?! type\b)[^;'"()]*'(?:kafkajs(?:\/[^']*)?|[^']*\/internals\.ts)'|\('(?:kafkajs['/]|[^']*\/internals\.ts')/m;

test('only src/kafka/kafkajs loads kafkajs; every other file takes its types alone, or it would load without the patches', () => {
  const loading = globSync('src/**/*.ts', { cwd: ROOT })
    .map((file) => file.split(path.sep).join('/'))
    .filter((file) => LOADS_KAFKAJS.test(readFileSync(path.join(ROOT, file), 'utf8')));
  assert.ok(loading.length > 0);
  assert.deepEqual(
    loading.filter((file) => !below(file, 'src/kafka/kafkajs')),
    [],
  );
});

/** Dependencies of published packages, which are installed without our lock file. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

const ROOT = new URL('../../../', import.meta.url);
const read = (file: string) => JSON.parse(readFileSync(new URL(file, ROOT), 'utf8'));
/** Packages whose internals the connector replaces or reads. */
const OPENED = ['@jmespath-community/jmespath', 'csv-parse', 'kafkajs', 'prom-client'];

test('packages whose internals the connector uses have an exact version', () => {
  for (const manifest of [
    'package.json',
    'packages/client/package.json',
    'packages/consumer/package.json',
  ])
    for (const [name, range] of Object.entries<string>(read(manifest).dependencies))
      if (OPENED.includes(name)) assert.match(range, /^\d+\.\d+\.\d+$/, `${manifest}: ${name}`);
});

test('the package has no source maps, because it does not contain the sources', () => {
  assert.equal(read('tsconfig.build.json').compilerOptions.sourceMap, undefined);
});

/** Returns the npm packages that a file and its imports load. Types are not loaded. */
function packagesOf(file: URL, seen = new Set<string>(), found = new Set<string>()): Set<string> {
  if (seen.has(file.href)) return found;
  seen.add(file.href);
  const imports =
    /^(?:import|export) (?!type\b)(?:[^;]*? from )?'([^']+)';|\b(?:import|load)\('([^']+)'\)/gm;
  for (const [, imported, target = imported ?? ''] of readFileSync(file, 'utf8').matchAll(
    imports,
  )) {
    if (target.startsWith('.')) packagesOf(new URL(target, file), seen, found);
    else if (!target.startsWith('node:'))
      found.add(target.split('/', target.startsWith('@') ? 2 : 1).join('/'));
  }
  return found;
}

for (const [name, entry] of [
  ['client', 'index.ts'],
  ['consumer', 'index.ts'],
  ['sandbox', 'sandbox.ts'],
] as const)
  test(`packages/${name} depends on exactly the packages that it loads, in the versions of the connector`, () => {
    const connector = read('package.json');
    const own = read(`packages/${name}/package.json`);
    const loaded = [...packagesOf(new URL(`packages/${name}/src/${entry}`, ROOT))].sort();
    assert.deepEqual(
      own.dependencies,
      Object.fromEntries(loaded.map((one) => [one, connector.dependencies[one]])),
    );
    for (const field of ['version', 'license', 'engines', 'type', 'author'])
      assert.deepEqual(own[field], connector[field], field);
    if (own.private === true) return;
    assert.deepEqual(own.bugs, connector.bugs);
    assert.deepEqual(own.repository, { ...connector.repository, directory: `packages/${name}` });
  });

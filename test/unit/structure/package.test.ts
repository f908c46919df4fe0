/** Package as its users install it: overrides and the lock file do not reach them. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

const read = (file: string) =>
  JSON.parse(readFileSync(new URL(`../../../${file}`, import.meta.url), 'utf8'));
const { packages } = read('package-lock.json') as {
  readonly packages: Readonly<
    Record<
      string,
      { readonly dev?: true; readonly dependencies?: Readonly<Record<string, string>> }
    >
  >;
};

/** Packages with internals that the connector replaces or reads. */
const OPENED = ['@jmespath-community/jmespath', 'csv-parse', 'kafkajs', 'prom-client'];

test('a package with internals that the connector uses has one version', () => {
  for (const manifest of ['package.json', 'client/package.json'])
    for (const [name, range] of Object.entries<string>(read(manifest).dependencies))
      if (OPENED.includes(name)) assert.match(range, /^\d+\.\d+\.\d+$/, `${manifest}: ${name}`);
});

test('users get one version of each package, as the lock file has it', () => {
  assert.equal(read('package.json').overrides, undefined);
  const installed = Object.entries(packages)
    .filter(([path, { dev }]) => path !== '' && dev !== true)
    .map(([path]) => path.replace(/^.*node_modules\//, ''));
  const twice = installed.filter((name, at) => installed.indexOf(name) !== at);
  assert.deepEqual(twice, []);
});

test('the package has no source maps: it does not have the sources', () => {
  assert.equal(read('tsconfig.build.json').compilerOptions.sourceMap, undefined);
});

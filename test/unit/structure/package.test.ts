/** Package as its users install it: the lock file does not reach them. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

const read = (file: string) =>
  JSON.parse(readFileSync(new URL(`../../../${file}`, import.meta.url), 'utf8'));
/** Packages with internals that the connector replaces or reads. */
const OPENED = ['@jmespath-community/jmespath', 'csv-parse', 'kafkajs', 'prom-client'];

test('a package with internals that the connector uses has one version', () => {
  for (const manifest of ['package.json', 'client/package.json'])
    for (const [name, range] of Object.entries<string>(read(manifest).dependencies))
      if (OPENED.includes(name)) assert.match(range, /^\d+\.\d+\.\d+$/, `${manifest}: ${name}`);
});

test('the package has no source maps: it does not have the sources', () => {
  assert.equal(read('tsconfig.build.json').compilerOptions.sourceMap, undefined);
});

/** The package of the client library: what it contains follows from the code. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { ContentReviewClient } from '../../../src/client/index.ts';

const ROOT = new URL('../../../', import.meta.url);
const read = (file: string) => readFileSync(new URL(file, ROOT), 'utf8');

/** Packages that a file and those behind its imports load; types are not loaded. */
function packagesOf(file: URL, seen = new Set<string>(), found = new Set<string>()): Set<string> {
  if (seen.has(file.href)) return found;
  seen.add(file.href);
  const imports = /^(?:import|export) (?!type\b)(?:[^;]*? from )?'([^']+)';/gm;
  for (const [, target = ''] of readFileSync(file, 'utf8').matchAll(imports)) {
    if (target.startsWith('.')) packagesOf(new URL(target, file), seen, found);
    else if (!target.startsWith('node:')) found.add(target);
  }
  return found;
}

test('the client library depends on the packages that it loads, in the versions of the connector', () => {
  const connector = JSON.parse(read('package.json'));
  const client = JSON.parse(read('client/package.json'));
  const loaded = [...packagesOf(new URL('src/client/index.ts', ROOT))].sort();
  assert.deepEqual(
    client.dependencies,
    Object.fromEntries(loaded.map((name) => [name, connector.dependencies[name]])),
  );
  for (const field of ['version', 'license', 'engines', 'bugs', 'type', 'author'])
    assert.deepEqual(client[field], connector[field], field);
  assert.deepEqual(client.repository, { ...connector.repository, directory: 'client' });
});

test('docs/client.md lists every method of the client', () => {
  const client = new ContentReviewClient({ baseUrl: 'https://review.example', apiKey: 'key' });
  const methodsOf = (one: object) =>
    Object.getOwnPropertyNames(Object.getPrototypeOf(one)).filter((name) => name !== 'constructor');
  const methods = (['batches', 'imports', 'decisions'] as const).flatMap((name) =>
    methodsOf(client[name]).map((method) => `${name}.${method}`),
  );
  const listed = [...read('docs/client.md').matchAll(/^\| `([\w.]+)\(/gm)].map(([, name]) => name);
  assert.deepEqual(listed, [...methods, ...methodsOf(client)]);
});

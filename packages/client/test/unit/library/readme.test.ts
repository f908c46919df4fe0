/** The README of the client library lists what the code has. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { ContentReviewClient } from '../../../src/index.ts';

const ROOT = new URL('../../../../../', import.meta.url);
const read = (file: string) => readFileSync(new URL(file, ROOT), 'utf8');

test('packages/client/README.md lists every method of the client', () => {
  const client = new ContentReviewClient({ baseUrl: 'https://review.example', apiKey: 'key' });
  const methodsOf = (one: object) =>
    Object.getOwnPropertyNames(Object.getPrototypeOf(one)).filter((name) => name !== 'constructor');
  const methods = (['batches', 'imports', 'decisions'] as const).flatMap((name) =>
    methodsOf(client[name]).map((method) => `${name}.${method}`),
  );
  const listed = [...read('packages/client/README.md').matchAll(/^\| `([\w.]+)\(/gm)].map(
    ([, name]) => name,
  );
  assert.deepEqual(listed, [...methods, ...methodsOf(client)]);
});

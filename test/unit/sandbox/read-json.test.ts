import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { readJson } from '../../../src/sandbox/http/server.ts';

test('a body that is too large is refused without being kept', async () => {
  const chunk = Buffer.alloc(2 ** 20, ' ');
  const chunks = function* () {
    for (let sent = 0; sent < 300; sent++) yield chunk;
  };
  const request = Object.assign(Readable.from(chunks()), {
    headers: { 'content-type': 'application/json' },
  });
  const before = process.memoryUsage().arrayBuffers;
  await assert.rejects(readJson({ request } as never), { name: 'RefusedRequest' });
  assert.ok(process.memoryUsage().arrayBuffers - before < 100 * 2 ** 20);
});

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { ContentReviewClient } from '../../../src/index.ts';
import { clientFor, httpServer, json, KEY, NEVER } from './servers.ts';

const { version } = JSON.parse(
  readFileSync(new URL('../../../../../package.json', import.meta.url), 'utf8'),
);
const EXPECTED = `content-review-connector/${version}`;
const UPLOAD = { contentType: 'text/csv', ...NEVER };

test('every request names this program and its version: calls, uploads, downloads, and the client library', async (t) => {
  const server = await httpServer(t, (response, { path }) =>
    path.startsWith('/v1/')
      ? json(response, 200, { batch_id: 'b-1', batch_status: 'PENDING' })
      : response.writeHead(200).end('x'),
  );
  const { client } = clientFor(t, server.url);
  await client.getBatch('b-1', NEVER);
  await client.upload(`${server.url}/up?sig=1`, Buffer.from('a'), UPLOAD);
  for await (const _ of client.download(`${server.url}/down?sig=1`, NEVER));
  const library = new ContentReviewClient({ baseUrl: server.url, apiKey: KEY });
  t.after(() => library.close());
  await library.batches.get('b-1');
  assert.deepEqual(
    server.seen.map(({ method, path, headers }) => [method, path, headers['user-agent']]),
    [
      ['GET', '/v1/batches/b-1', EXPECTED],
      ['PUT', '/up', EXPECTED],
      ['GET', '/down', EXPECTED],
      ['GET', '/v1/batches/b-1', EXPECTED],
    ],
  );
});

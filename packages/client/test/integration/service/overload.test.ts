/** Client under overload: fewer concurrent requests, Retry-After as the minimum delay. */
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import test from 'node:test';
import { clientFor, collect, httpServer, json, NEVER } from './servers.ts';

const CREATED = {
  batch_id: 'b',
  batch_status: 'WAITING_FOR_UPLOAD',
  upload_url: 'http://storage.invalid/u',
  download_url: null,
};
const CSV = Buffer.from('Content\r\nhello\r\n');
const UPLOAD = { contentType: 'text/csv', ...NEVER };
const SLOW_DOWN =
  '<?xml version="1.0"?><Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>';

function afterTurns(turns: number, run: () => void): void {
  setImmediate(() => (turns === 0 ? run() : afterTurns(turns - 1, run)));
}

test('a 429 halves the requests in flight, and does not slow the storage', async (t) => {
  const first: ServerResponse[] = [];
  let running = 0;
  let most = 0;
  const server = await httpServer(t, (response, _, index) => {
    if (index < 8) {
      // All eight are under way before any of them is answered.
      first.push(response);
      if (first.length === 8) for (const one of first) json(one, 429, {});
      return;
    }
    most = Math.max(most, ++running);
    // Many turns of the loop that the client runs in too: whatever it wants to send arrives before the answer.
    afterTurns(100, () => {
      running--;
      json(response, 200, CREATED);
    });
  });
  const { client, observer } = clientFor(t, server.url, {
    maxConcurrentRequests: 8,
    retry: { baseMs: 10, capMs: 10 },
  });
  await Promise.all(Array.from({ length: 8 }, () => client.createBatch('post', NEVER)));
  assert.ok(most <= 4, `${most} at once`);
  assert.deepEqual(observer.limits, ['api 8', 'storage 8', 'api 4']);
});

test('an overloaded storage halves its transfers, and its Retry-After is a floor for uploads and downloads', async (t) => {
  const server = await httpServer(t, (response, _, index) => {
    if (index % 2 === 0)
      response
        .writeHead(503, { 'retry-after': '7', 'content-type': 'application/xml' })
        .end(SLOW_DOWN);
    else response.end(CSV);
  });
  const { client, clock, observer } = clientFor(t, 'http://127.0.0.1:9', {
    maxConcurrentTransfers: 8,
  });
  await client.upload(`${server.url}/u`, CSV, UPLOAD);
  assert.deepEqual(await collect(client.download(`${server.url}/d`, NEVER)), CSV);
  assert.deepEqual(observer.retries, ['upload 503', 'download 503']);
  assert.ok(
    clock.slept.every((ms) => ms >= 7_000),
    `${clock.slept}`,
  );
  // The upload's success comes a window after its overload: one back, then the download's overload halves again.
  assert.deepEqual(observer.limits, [
    'api 16',
    'storage 8',
    'storage 4',
    'storage 5',
    'storage 2',
    'storage 3',
  ]);
});

test("S3's codes of overload are retried, whatever the status", async (t) => {
  const server = await httpServer(t, (response, _, index) => {
    if (index === 0) response.writeHead(400).end(SLOW_DOWN);
    else response.end();
  });
  const { client, observer } = clientFor(t, 'http://127.0.0.1:9');
  await client.upload(server.url, CSV, UPLOAD);
  assert.deepEqual(observer.retries, ['upload 400']);
});

test('a Retry-After longer than the retries may take is in the error, for transfers too', async (t) => {
  const server = await httpServer(t, (response) =>
    response.writeHead(503, { 'retry-after': '600' }).end(SLOW_DOWN),
  );
  const { client } = clientFor(t, 'http://127.0.0.1:9');
  await assert.rejects(client.upload(server.url, CSV, UPLOAD), {
    failure: 'unavailable',
    retryAfterMs: 600_000,
  });
  await assert.rejects(collect(client.download(server.url, NEVER)), {
    failure: 'unavailable',
    retryAfterMs: 600_000,
  });
});

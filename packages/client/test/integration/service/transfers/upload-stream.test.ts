import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import test from 'node:test';
import type { StreamBody } from '../../../../src/http/upload-body.ts';
import { clientFor, httpServer, NEVER } from '../servers.ts';

const JSONL = { contentType: 'application/jsonl', ...NEVER };
const PARTS = ['{"type":"a",', '"data":{}}\n', '{"type":"b","data":{}}\n'].map((text) =>
  Buffer.from(text),
);
const WHOLE = Buffer.concat(PARTS);

/** Returns a body in pieces that counts how often it was opened and closed. */
function pieces(parts: readonly Buffer[] = PARTS, options: Partial<StreamBody> = {}) {
  const count = { opened: 0, closed: 0 };
  const open = async function* () {
    count.opened++;
    try {
      yield* parts;
    } finally {
      count.closed++;
    }
  };
  return { body: { length: Buffer.concat(parts).length, open, ...options }, count };
}

test('a streamed body arrives whole, with a Content-Length and without chunked encoding', async (t) => {
  const server = await httpServer(t, (response) => response.end());
  const { body, count } = pieces();
  await clientFor(t, 'http://127.0.0.1:9').client.upload(server.url, body, JSONL);
  const [request] = server.seen;
  assert.ok(request?.body.equals(WHOLE));
  assert.equal(request?.headers['content-length'], String(WHOLE.length));
  assert.equal(request?.headers['transfer-encoding'], undefined);
  assert.equal(request?.headers['content-type'], 'application/jsonl');
  assert.deepEqual(count, { opened: 1, closed: 1 });
});

test('a large body is sent as fast as it is read, never ahead of it', async (t) => {
  const TOTAL = 256 * 1024 * 1024;
  const chunk = Buffer.alloc(1024 * 1024, 'x');
  const expected = createHash('sha256');
  let made = 0;
  let received = 0;
  let ahead = 0;
  const hash = createHash('sha256');
  const server = createServer((request, response) => {
    request.on('data', (data: Buffer) => {
      received += data.length;
      hash.update(data);
    });
    request.on('end', () => response.end());
  });
  t.after(() => server.close());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const open = async function* () {
    for (let index = 0; index < TOTAL / chunk.length; index++) {
      expected.update(chunk);
      made += chunk.length;
      ahead = Math.max(ahead, made - received);
      yield chunk;
    }
  };
  const { client } = clientFor(t, 'http://127.0.0.1:9');
  await client.upload(
    `http://127.0.0.1:${(server.address() as AddressInfo).port}/k`,
    { length: TOTAL, open },
    JSONL,
  );
  assert.equal(received, TOTAL);
  assert.equal(hash.digest('hex'), expected.digest('hex'));
  assert.ok(ahead < 64 * 1024 * 1024, `${ahead} bytes were read before they could be sent`);
});

test('a failed attempt restarts the body, also after a redirect', async (t) => {
  const target = await httpServer(t, (response) => response.end());
  const server = await httpServer(t, (response, _, index) => {
    if (index === 0) response.writeHead(503).end();
    else response.writeHead(307, { location: target.url }).end();
  });
  const { body, count } = pieces();
  const { client, observer } = clientFor(t, 'http://127.0.0.1:9');
  await client.upload(server.url, body, JSONL);
  assert.ok(target.seen[0]?.body.equals(WHOLE));
  assert.deepEqual(observer.retries, ['upload 503']);
  assert.deepEqual(count, { opened: 3, closed: 3 });
});

test('a body whose length differs from the announced one never looks complete, and is not retried', async (t) => {
  const server = await httpServer(t, (response) => response.end());
  const { client } = clientFor(t, 'http://127.0.0.1:9');
  for (const [length, message] of [
    [WHOLE.length + 1, /has only \d+ of the/],
    [WHOLE.length - 1, /has more than the/],
    // The announced length is that of the first pieces. A storage that only counts bytes would accept these
    // as the whole file.
    [WHOLE.length - (PARTS[2]?.length ?? 0), /has more than the/],
  ] as const) {
    const { body, count } = pieces(PARTS, { length });
    await assert.rejects(client.upload(server.url, body, JSONL), { name: 'RangeError', message });
    assert.deepEqual(count, { opened: 1, closed: 1 });
  }
  assert.equal(server.seen.length, 0, 'no request was complete');
  await assert.rejects(
    client.upload(server.url, pieces(PARTS, { length: Number.NaN }).body, JSONL),
    RangeError,
  );
});

test('an abort immediately ends a streamed upload and closes its source', async (t) => {
  const server = await httpServer(t, (response) => response.end());
  const stop = new AbortController();
  const closed = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const open = async function* () {
    try {
      yield* PARTS.slice(0, 2);
      begun.resolve();
      yield Buffer.from('a');
      await new Promise((_, reject) =>
        stop.signal.addEventListener('abort', () => reject(stop.signal.reason)),
      );
    } finally {
      closed.resolve();
    }
  };
  const upload = clientFor(t, 'http://127.0.0.1:9').client.upload(
    server.url,
    { length: 1000, open },
    { ...JSONL, signal: stop.signal },
  );
  await begun.promise;
  const reason = new Error('enough');
  stop.abort(reason);
  await assert.rejects(upload, (error) => error === reason);
  await closed.promise;
});

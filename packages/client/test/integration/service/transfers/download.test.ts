import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import test from 'node:test';
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { USER_AGENT } from '../../../../src/base/version.ts';
import { clientFor, collect, httpServer, NEVER, rawServer } from '../servers.ts';

const CSV = Buffer.from('Content,Status\r\nhello,SUCCESS\r\n');
const GET_END = '\r\n\r\n';
/** Body larger than a piece, so that the first piece arrives before the end. */
const FIRST_BYTES = Buffer.alloc(300_000, 'x');

/** Responds to each GET with these bytes, then closes or resets the connection, or waits. */
function answering(head: string, body: Buffer, end: 'close' | 'reset' | 'wait') {
  return (socket: import('node:net').Socket, received: string) => {
    if (!received.endsWith(GET_END)) return;
    socket.write(`HTTP/1.1 200 OK\r\n${head}\r\n\r\n`);
    socket.write(body, () => {
      if (end === 'close') socket.end();
      if (end === 'reset') setImmediate(() => socket.resetAndDestroy());
    });
  };
}

test('on the wire a download is a plain GET: host, connection, Accept-Encoding and User-Agent, no Authorization', async (t) => {
  const server = await rawServer(t, answering(`content-length: ${CSV.length}`, CSV, 'wait'));
  const { client, observer } = clientFor(t, 'http://127.0.0.1:9');
  assert.deepEqual(await collect(client.download(`${server.url}/k?sig=a%2Bb`, NEVER)), CSV);
  assert.deepEqual(server.received[0]?.trimEnd().split('\r\n'), [
    'GET /k?sig=a%2Bb HTTP/1.1',
    `host: ${server.url.slice('http://'.length)}`,
    'connection: keep-alive',
    'accept-encoding: identity',
    `user-agent: ${USER_AGENT}`,
  ]);
  assert.deepEqual(observer.requests, ['download 200']);
});

test('a cut file is reported as cut, after all of its bytes were delivered', async (t) => {
  const half = CSV.subarray(0, 20);
  const chunked = Buffer.from(`${half.length.toString(16)}\r\n${half}\r\n`);
  const cuts: [string, Buffer, 'close' | 'reset'][] = [
    [`content-length: ${CSV.length}`, half, 'close'],
    [`connection: close\r\ncontent-length: ${CSV.length}`, half, 'close'],
    [`content-length: ${CSV.length}`, half, 'reset'],
    ['transfer-encoding: chunked', chunked, 'close'],
    ['connection: close\r\ntransfer-encoding: chunked', chunked, 'close'],
    [
      `content-encoding: gzip\r\ncontent-length: ${gzipSync(CSV).length}`,
      gzipSync(CSV).subarray(0, 15),
      'close',
    ],
    [`content-encoding: gzip\r\ncontent-length: 15`, gzipSync(CSV).subarray(0, 15), 'close'],
  ];
  for (const [head, body, end] of cuts) {
    const server = await rawServer(t, answering(head, body, end));
    const { client, observer } = clientFor(t, 'http://127.0.0.1:9');
    const got: Buffer[] = [];
    const reading = (async () => {
      for await (const chunk of client.download(server.url, NEVER)) got.push(chunk);
    })();
    await assert.rejects(
      reading,
      { name: 'ServiceError', failure: 'protocol', operation: 'download', message: /was cut/ },
      head,
    );
    if (!head.includes('gzip') && end === 'close') assert.deepEqual(Buffer.concat(got), half);
    assert.deepEqual(observer.requests, ['download 200', 'download reset']);
  }
});

test('a file that stops arriving ends with the body timeout, as unavailable', async (t) => {
  const server = await rawServer(t, answering('content-length: 1000', CSV, 'wait'));
  const { client } = clientFor(t, 'http://127.0.0.1:9', { bodyTimeoutMs: 100 });
  await assert.rejects(collect(client.download(server.url, NEVER)), {
    failure: 'unavailable',
    message: /stopped in the middle/,
  });
});

test('a slow reader is not mistaken for a silent server', async (t) => {
  const body = randomBytes(3_000_000);
  const server = await httpServer(t, (response) => response.end(body));
  const silent = await rawServer(t, answering('content-length: 1000', CSV, 'wait'));
  const { client } = clientFor(t, 'http://127.0.0.1:9', { bodyTimeoutMs: 100 });
  let bytes = 0;
  for await (const chunk of client.download(server.url, NEVER)) {
    // Waits for longer than the timeout of a silent server.
    if (bytes === 0)
      await assert.rejects(collect(client.download(silent.url, NEVER)), {
        message: /stopped in the middle/,
      });
    bytes += chunk.length;
  }
  assert.equal(bytes, body.length);
});

test('a compressed file is decompressed, in each of the usual encodings', async (t) => {
  const body = Buffer.concat([CSV, randomBytes(300_000)]);
  const gzip = gzipSync(body);
  const encodings: [string, Buffer][] = [
    ['gzip', gzip],
    ['x-gzip', gzip],
    ['GZIP ', gzip],
    // Several gzip members in sequence are one file, as many tools write them.
    ['gzip', Buffer.concat([gzipSync(body.subarray(0, 1000)), gzipSync(body.subarray(1000))])],
    ['deflate', deflateSync(body)],
    ['br', brotliCompressSync(body)],
    ['zstd', zstdCompressSync(body)],
    ['Identity', body],
  ];
  for (const [encoding, bytes] of encodings) {
    const server = await httpServer(t, (response) =>
      response.writeHead(200, { 'content-encoding': encoding }).end(bytes),
    );
    assert.ok(
      (await collect(clientFor(t, 'http://127.0.0.1:9').client.download(server.url, NEVER))).equals(
        body,
      ),
    );
  }
});

test('a compressed file that grows beyond the limit is stopped, with each coding; one that grows less is not', async (t) => {
  const zeros = Buffer.alloc(20_000_000);
  const parts = Array.from({ length: 20 }, () => gzipSync(zeros.subarray(0, 1_000_000)));
  const bombs: [string, Buffer][] = [
    ['gzip', Buffer.concat(parts)],
    ['deflate', deflateSync(zeros)],
    ['br', brotliCompressSync(zeros)],
    ['zstd', zstdCompressSync(zeros)],
  ];
  for (const [encoding, bytes] of bombs) {
    const bomb = await httpServer(t, (response) =>
      response.writeHead(200, { 'content-encoding': encoding }).end(bytes),
    );
    const strict = clientFor(t, 'http://127.0.0.1:9', { maxDecompressionRatio: 100 });
    await assert.rejects(
      collect(strict.client.download(bomb.url, NEVER)),
      { failure: 'blocked', message: /grows suspiciously/ },
      encoding,
    );
  }
  const server = await httpServer(t, (response) =>
    response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(zeros)),
  );
  const lax = clientFor(t, 'http://127.0.0.1:9', { maxDecompressionRatio: 2000 });
  assert.equal((await collect(lax.client.download(server.url, NEVER))).length, zeros.length);
});

test('the error of a broken body or an unknown encoding names the defect', async (t) => {
  for (const [encoding, failure, message] of [
    ['gzip', 'protocol', /cannot be decoded \(Z_DATA_ERROR\)/],
    ['br', 'protocol', /cannot be decoded \(BAD_COMPRESSION\)/],
    ['zstd', 'protocol', /cannot be decoded \(BAD_COMPRESSION\)/],
    ['gzip, gzip', 'blocked', /an encoding other than gzip, deflate, br and zstd/],
    ['constructor', 'blocked', /an encoding other than/],
  ] as const) {
    const server = await httpServer(t, (response) =>
      response.writeHead(200, { 'content-encoding': encoding }).end(CSV),
    );
    const failed = collect(clientFor(t, 'http://127.0.0.1:9').client.download(server.url, NEVER));
    await assert.rejects(failed, { failure, message }, encoding);
  }
});

test('a file larger than allowed is stopped: at once by its Content-Length, otherwise at the limit', async (t) => {
  const body = randomBytes(400_000);
  const cases: [Record<string, string | number>, Buffer, number][] = [
    [{ 'content-length': body.length }, body, 0],
    [{}, body, 300_000],
    [{ 'content-encoding': 'gzip' }, gzipSync(body), 300_000],
  ];
  for (const [headers, bytes, most] of cases) {
    const server = await httpServer(t, (response) => response.writeHead(200, headers).end(bytes));
    const { client } = clientFor(t, 'http://127.0.0.1:9', { maxResultBytes: 300_000 });
    let got = 0;
    const reading = (async () => {
      for await (const chunk of client.download(server.url, NEVER)) got += chunk.length;
    })();
    await assert.rejects(reading, {
      failure: 'blocked',
      message: /larger than this client accepts/,
    });
    assert.ok(got <= most, `${got} bytes`);
  }
  const server = await httpServer(t, (response) => response.end(body));
  const exact = clientFor(t, 'http://127.0.0.1:9', { maxResultBytes: body.length });
  assert.equal((await collect(exact.client.download(server.url, NEVER))).length, body.length);
});

test('a download is retried until its headers arrive, and follows redirects', async (t) => {
  const server = await httpServer(t, (response, request, index) => {
    if (index === 0) response.writeHead(503).end();
    else if (request.path === '/a') response.writeHead(302, { location: '/b' }).end();
    else response.end(CSV);
  });
  const { client, observer } = clientFor(t, 'http://127.0.0.1:9');
  assert.deepEqual(await collect(client.download(`${server.url}/a`, NEVER)), CSV);
  assert.deepEqual(observer.requests, ['download 503', 'download 302', 'download 200']);
  assert.deepEqual(observer.retries, ['download 503']);
});

test('an abort immediately ends a download with its reason, before and within the body', async (t) => {
  const reason = new Error('shard lost');
  for (const sendFirst of [false, true]) {
    const arrived = Promise.withResolvers<void>();
    const server = await httpServer(t, (response) => {
      if (sendFirst) response.write(FIRST_BYTES);
      arrived.resolve();
    });
    const controller = new AbortController();
    const chunks = clientFor(t, 'http://127.0.0.1:9').client.download(server.url, {
      signal: controller.signal,
    });
    if (sendFirst) assert.ok((await chunks.next()).value);
    const rest = collect(chunks);
    await arrived.promise;
    controller.abort(reason);
    await assert.rejects(rest, (error) => error === reason);
  }
});

test('leaving the loop early closes the connection and frees its place in the pool', async (t) => {
  const closed = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  for (const encoding of ['identity', 'gzip']) {
    const server = await httpServer(t, (response, _, index) => {
      response.on('close', () => closed[index]?.resolve());
      response.writeHead(200, { 'content-encoding': encoding });
      const more = encoding === 'gzip' ? gzipSync(randomBytes(5_000_000)) : randomBytes(5_000_000);
      response.write(more);
    });
    const { client } = clientFor(t, 'http://127.0.0.1:9', { maxConcurrentTransfers: 1 });
    for (let round = 0; round < 2; round++) {
      for await (const chunk of client.download(server.url, NEVER)) {
        assert.ok(chunk.length > 0);
        break;
      }
      await closed[round]?.promise;
    }
  }
});

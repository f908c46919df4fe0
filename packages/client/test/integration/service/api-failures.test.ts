import assert from 'node:assert/strict';
import test from 'node:test';
import { allOf } from '../../../../../test/support/stack/canary.ts';
import type { ServiceFailure } from '../../../src/base/service-error.ts';
import { EndlessSleepClock } from '../../unit/service/fakes.ts';
import { clientFor, deadAddress, httpServer, json, NEVER, rawServer } from './servers.ts';

const CREATED = {
  batch_id: 'b-1',
  batch_status: 'WAITING_FOR_UPLOAD',
  upload_url: 'https://s3.example/u',
  download_url: null,
};
const CREATED_RAW = JSON.stringify(CREATED);
const FULL_ANSWER = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${CREATED_RAW.length}\r\n\r\n${CREATED_RAW}`;

/** True if the client's whole POST has arrived. */
function complete(received: string): boolean {
  return received.endsWith('}');
}

test('each permanent status has its failure, is not retried and leaves no orphan', async (t) => {
  const expected: [number, ServiceFailure][] = [
    [400, 'rejected'],
    [401, 'unauthorized'],
    [403, 'unauthorized'],
    [404, 'not_found'],
    [409, 'rejected'],
    [410, 'not_found'],
    [413, 'too_large'],
    [422, 'rejected'],
  ];
  for (const [status, failure] of expected) {
    const server = await httpServer(t, (response) => json(response, status, {}));
    const { client, observer } = clientFor(t, server.url);
    await assert.rejects(client.createBatch('email', NEVER), {
      name: 'ServiceError',
      failure,
      status,
      operation: 'create_batch',
    });
    assert.deepEqual(
      [server.seen.length, observer.requests, observer.orphans],
      [1, [`create_batch ${status}`], 0],
    );
  }
});

test('408, 429 and every 5xx are retried until they succeed', async (t) => {
  const passing = [408, 429, 500, 502, 503, 504, 599];
  const server = await httpServer(t, (response, _, index) =>
    json(response, passing[index] ?? 200, CREATED),
  );
  const { client, observer, clock } = clientFor(t, server.url, {
    retry: { maxRetries: 10, maxElapsedMs: 600_000 },
  });
  assert.equal((await client.createBatch('email', NEVER)).batchId, 'b-1');
  assert.deepEqual(
    observer.retries,
    passing.map((status) => `create_batch ${status}`),
  );
  assert.equal(clock.slept.length, passing.length);
  assert.equal(observer.orphans, 2, 'only a gateway’s 502 and 504 leave the outcome open');
});

test('retries end with unavailable, the last status and the Retry-After', async (t) => {
  const server = await httpServer(t, (response) => json(response, 429, {}, { 'retry-after': '2' }));
  const { client, clock } = clientFor(t, server.url, { retry: { maxRetries: 2 } });
  await assert.rejects(client.getBatch('b-1', NEVER), {
    failure: 'unavailable',
    status: 429,
    retryAfterMs: 2000,
    message: /tried 3 times/,
  });
  assert.equal(clock.slept.length, 2);
  assert.ok(clock.slept.every((ms) => ms >= 2000));
});

for (const aheadHours of [-5, 0, 5])
  test(`Retry-After as an HTTP date is relative to the Date of the response, ${aheadHours} h from the local clock`, async (t) => {
    const { url } = await httpServer(t, (response, _, index) => {
      if (index > 0) return json(response, 200, CREATED);
      const dateMs = Date.now() + aheadHours * 3_600_000;
      const [date, retryAfter] = [dateMs, dateMs + 9_000].map((ms) => new Date(ms).toUTCString());
      return json(response, 503, {}, { date: String(date), 'retry-after': String(retryAfter) });
    });
    const { client, clock } = clientFor(t, url);
    await client.createBatch('email', NEVER);
    assert.equal(clock.slept.length, 1);
    assert.ok((clock.slept[0] ?? 0) >= 9_000 && (clock.slept[0] ?? 0) < 60_000);
  });

test('a redirect of the API is not followed, because the key would be sent along', async (t) => {
  const other = await httpServer(t, (response) => json(response, 200, CREATED));
  const server = await httpServer(t, (response) =>
    response.writeHead(307, { location: `${other.url}/v1/batches` }).end(),
  );
  await assert.rejects(clientFor(t, server.url).client.createBatch('email', NEVER), {
    failure: 'protocol',
    message: /baseUrl must be the final/,
  });
  assert.deepEqual([server.seen.length, other.seen.length], [1, 0]);
});

test('errors contain operation, address, status, the service’s own message and advice', async (t) => {
  const server = await httpServer(t, (response) =>
    json(response, 400, { error: { code: 'bad_type', message: 'type "x" is unknown' } }),
  );
  await assert.rejects(clientFor(t, server.url).client.createBatch('x', NEVER), (error: Error) => {
    const host = server.url.slice('http://'.length);
    assert.equal(
      error.message,
      `create_batch at ${host}/v1/batches responded with 400 bad_type "type "x" is unknown"; ` +
        'the same request will fail again: check that the service accepts what is sent',
    );
    return true;
  });
});

test('only the code of a response about uploaded rows is shown, because its message may quote the rows', async (t) => {
  const quote = 'batch row 1 "my secret content" is too rude';
  const bodies: [string, string, RegExp][] = [
    [
      'application/json',
      JSON.stringify({ code: 'bad_row', message: quote, title: quote }),
      /responded with 400 bad_row;/,
    ],
    [
      'application/json',
      JSON.stringify({ error: { type: 'bad_row', detail: quote } }),
      /responded with 400 bad_row;/,
    ],
    [
      'application/json',
      JSON.stringify({ error: 'invalid_request', error_description: quote }),
      /responded with 400 invalid_request;/,
    ],
    [
      'application/json',
      JSON.stringify({ code: quote, error: quote, detail: [{ msg: quote }] }),
      /responded with 400;/,
    ],
    ['text/plain', quote, /responded with 400;/],
  ];
  for (const [type, body, message] of bodies) {
    const server = await httpServer(t, (response) =>
      response.writeHead(400, { 'content-type': type }).end(body),
    );
    const { client } = clientFor(t, server.url);
    const calls = [
      client.getBatch('b-1', NEVER),
      client.getImport('i-1', NEVER),
      client.getDecision('d-1', NEVER),
    ];
    for (const call of calls) {
      await assert.rejects(call, (error: Error) => {
        assert.match(error.message, message);
        assert.doesNotMatch(allOf(error), /secret content/);
        return true;
      });
    }
  }
});

test('an invalid response counts as a failed request, and the error names the problem', async (t) => {
  const cases: [string, RegExp][] = [
    [
      '<html>',
      /responded with 200, but the body is not JSON, or exceeds the limits of depth and size;/,
    ],
    ['\ufeff{}', /responded with 200, but the body begins with a byte order mark/],
    ['[]', /responded with 200, but the body is not a JSON object;/],
    [
      `{"decision_status":"SUCCESS","metadata":{"a":${'['.repeat(100)}${']'.repeat(100)}}}`,
      /exceeds the limits of depth/,
    ],
    [
      `{"decision_status":"SUCCESS","metadata":{"a":${'['.repeat(20_000)}${']'.repeat(20_000)}}}`,
      /exceeds the limits of depth/,
    ],
    [
      `{"decision_status":"SUCCESS","labels":[{"name":"a","x":${'{"x":'.repeat(5_000)}1${'}'.repeat(5_000)}}]}`,
      /exceeds the limits of depth/,
    ],
  ];
  for (const [body, message] of cases) {
    const server = await httpServer(t, (response) => response.writeHead(200).end(body));
    const { client, observer } = clientFor(t, server.url);
    await assert.rejects(client.getDecision('d-1', NEVER), {
      name: 'ServiceError',
      failure: 'protocol',
      status: 200,
      message,
    });
    assert.deepEqual(observer.requests, ['get_decision protocol']);
  }
});

test('a refused connection ends as unavailable after retries, without an orphan, because nothing was sent', async (t) => {
  const { client, observer } = clientFor(t, await deadAddress(), { retry: { maxRetries: 1 } });
  await assert.rejects(client.createBatch('email', NEVER), {
    failure: 'unavailable',
    message: /could not be reached \(ECONNREFUSED\)/,
  });
  assert.deepEqual(observer.requests, [
    'create_batch connect_failed',
    'create_batch connect_failed',
  ]);
  assert.equal(observer.orphans, 0);
});

test('a connection timeout is retried, and leaves no orphan', async (t) => {
  // The handshake never gets a response.
  const server = await rawServer(t, () => {});
  const settings = { connectTimeoutMs: 100, retry: { maxRetries: 1 } };
  const { client, observer } = clientFor(t, server.url.replace('http:', 'https:'), settings);
  await assert.rejects(client.createBatch('email', NEVER), {
    failure: 'unavailable',
    message: /did not accept a connection in time/,
  });
  assert.deepEqual(
    [observer.requests, observer.orphans],
    [Array(2).fill('create_batch connect_timeout'), 0],
  );
});

test('a reset after the POST was sent is retried and reported as a possible orphan', async (t) => {
  const server = await rawServer(t, (socket, received, connection) => {
    if (!complete(received)) return;
    if (connection === 0) socket.resetAndDestroy();
    else socket.write(FULL_ANSWER);
  });
  const { client, observer } = clientFor(t, server.url);
  assert.equal((await client.createBatch('email', NEVER)).batchId, 'b-1');
  assert.deepEqual(observer.requests, ['create_batch reset', 'create_batch 200']);
  assert.deepEqual([observer.retries, observer.orphans], [['create_batch reset'], 1]);
});

test('a response cut in its body is retried, with and without keep-alive', async (t) => {
  for (const connectionHeader of ['keep-alive', 'close']) {
    const server = await rawServer(t, (socket, received, connection) => {
      if (!complete(received)) return;
      if (connection > 0) socket.write(FULL_ANSWER);
      else
        socket.end(
          `HTTP/1.1 200 OK\r\nconnection: ${connectionHeader}\r\ncontent-length: ${CREATED_RAW.length}\r\n\r\n${CREATED_RAW.slice(0, 20)}`,
        );
    });
    const { client, observer } = clientFor(t, server.url);
    assert.equal((await client.createBatch('email', NEVER)).batchId, 'b-1');
    assert.deepEqual([observer.retries, observer.orphans], [['create_batch reset'], 1]);
  }
});

test('a headers timeout is retried and reported as a possible orphan', async (t) => {
  const server = await rawServer(t, (socket, received, connection) => {
    if (!complete(received)) return;
    socket.write(connection === 0 ? 'HTTP/1.1 200 OK\r\ncontent-' : FULL_ANSWER);
  });
  const { client, observer } = clientFor(t, server.url, { headersTimeoutMs: 100 });
  assert.equal((await client.createBatch('email', NEVER)).batchId, 'b-1');
  assert.deepEqual([observer.retries, observer.orphans], [['create_batch headers_timeout'], 1]);
});

test('a body that stops or drips endlessly ends with the body timeout', async (t) => {
  for (const everyMs of [undefined, 20]) {
    const server = await rawServer(t, (socket, received, connection) => {
      if (!complete(received)) return;
      if (connection > 0) return void socket.write(FULL_ANSWER);
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n{');
      if (everyMs === undefined) return;
      const drip = setInterval(() => socket.write(' '), everyMs);
      socket.on('close', () => clearInterval(drip));
    });
    const { client, observer } = clientFor(t, server.url, { bodyTimeoutMs: 100 });
    assert.equal((await client.createBatch('email', NEVER)).batchId, 'b-1');
    assert.deepEqual(observer.retries, ['create_batch body_timeout']);
  }
});

test('a response that is not HTTP or never ends is a protocol error', async (t) => {
  for (const answer of [
    'SSH-2.0-OpenSSH_9.6\r\n',
    'HTTP/1.1 200 OK\r\ncontent-length: many\r\n\r\n',
    `HTTP/1.1 200 OK\r\nx: ${'x'.repeat(100_000)}`,
  ]) {
    const garbage = await rawServer(t, (socket) => socket.write(answer));
    await assert.rejects(clientFor(t, garbage.url).client.getBatch('b-1', NEVER), {
      failure: 'protocol',
      message: /not HTTP/,
    });
  }
  const endless = await httpServer(t, (response) => {
    response.writeHead(200);
    const more = () => {
      while (!response.destroyed && response.write(Buffer.alloc(1 << 18, 32)));
    };
    response.on('drain', more);
    more();
  });
  await assert.rejects(clientFor(t, endless.url).client.getBatch('b-1', NEVER), {
    failure: 'protocol',
    message: /BODY_TOO_LARGE/,
  });
});

test('an abort ends a request at once with the signal’s reason, and an aborted POST may leave an orphan', async (t) => {
  const arrived = Promise.withResolvers<void>();
  const server = await rawServer(t, (_, received) => complete(received) && arrived.resolve());
  const { client, observer } = clientFor(t, server.url);
  const controller = new AbortController();
  const result = client.createBatch('email', { signal: controller.signal });
  await arrived.promise;
  const reason = new Error('shard lost');
  controller.abort(reason);
  await assert.rejects(result, (error) => error === reason);
  assert.deepEqual([observer.requests, observer.orphans], [['create_batch aborted'], 1]);
});

test('an abort immediately ends a wait for the key or a retry', async (t) => {
  const server = await httpServer(t, (response) => json(response, 503, {}));
  const reason = new Error('enough');
  const isReason = (error: unknown) => error === reason;

  const noKey = new AbortController();
  const { client: keyless } = clientFor(t, server.url, {
    apiKey: () => new Promise(() => {}),
    maxConcurrentRequests: 1,
  });
  const first = keyless.getBatch('b-1', { signal: noKey.signal });
  const queued = new AbortController();
  const second = keyless.getBatch('b-1', { signal: queued.signal });
  queued.abort(reason);
  await assert.rejects(second, isReason);
  noKey.abort(reason);
  await assert.rejects(first, isReason);

  const clock = new EndlessSleepClock();
  const { client } = clientFor(t, server.url, { clock });
  const retrying = new AbortController();
  const third = client.getBatch('b-1', { signal: retrying.signal });
  await clock.sleeping;
  retrying.abort(reason);
  await assert.rejects(third, isReason);
});

test('close ends pending calls with an AbortError, rejects later calls, and can be repeated', async (t) => {
  const arrived = Promise.withResolvers<void>();
  const server = await httpServer(t, () => arrived.resolve());
  const { client } = clientFor(t, server.url);
  const result = client.getBatch('b-1', NEVER);
  await arrived.promise;
  await Promise.all([
    client.close(),
    client.close(),
    assert.rejects(result, { name: 'AbortError' }),
  ]);
  await client.close();
  await assert.rejects(client.getBatch('b-1', NEVER), { name: 'AbortError' });
});

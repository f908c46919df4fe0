import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import test from 'node:test';
import type { ServiceFailure } from '../../../../src/base/service-error.ts';
import { USER_AGENT } from '../../../../src/base/version.ts';
import { clientFor, httpServer, json, NEVER, rawServer } from '../servers.ts';

const CSV = { contentType: 'text/csv', ...NEVER };
const BODY = Buffer.from('Content,id\r\nhello,1\r\n');
const CREATED = { batch_id: 'b-1', upload_url: 'https://s3.example/u' };

function xmlError(code: string, message: string): string {
  return (
    `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code><Message>${message}</Message>` +
    '<StringToSign>secret-string</StringToSign><RequestId>r</RequestId></Error>'
  );
}

test('on the wire an upload has host, length, exactly the signed type, Accept-Encoding, User-Agent, and nothing else', async (t) => {
  const server = await rawServer(t, (socket, received) => {
    if (received.endsWith('hello,1\r\n'))
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n');
  });
  const { client, observer } = clientFor(t, 'http://127.0.0.1:9');
  await client.upload(
    `${server.url}/bucket/key%20a?X-Amz-Signature=a%2Fb%3D&x-amz-meta-batch_id=1&plus=a+b`,
    BODY,
    CSV,
  );
  const [head, body] = server.received[0]?.split('\r\n\r\n', 2) ?? [];
  assert.deepEqual(head?.split('\r\n'), [
    'PUT /bucket/key%20a?X-Amz-Signature=a%2Fb%3D&x-amz-meta-batch_id=1&plus=a+b HTTP/1.1',
    `host: ${server.url.slice('http://'.length)}`,
    'connection: keep-alive',
    'accept-encoding: identity',
    `user-agent: ${USER_AGENT}`,
    'content-type: text/csv',
    `content-length: ${BODY.length}`,
  ]);
  assert.equal(body, BODY.toString().trimEnd().concat('\r\n'));
  assert.deepEqual(observer.requests, ['upload 200']);
});

test('each response of the storage has its failure, with the XML Code and nothing else from the XML', async (t) => {
  const expected: [number, string, ServiceFailure, RegExp][] = [
    [
      403,
      xmlError('AccessDenied', 'Request has expired'),
      'expired',
      /responded with 403 AccessDenied; request a new address/,
    ],
    [
      400,
      xmlError('ExpiredToken', 'The provided token has expired.'),
      'expired',
      /responded with 400 ExpiredToken/,
    ],
    [
      403,
      xmlError('SignatureDoesNotMatch', 'The signature …'),
      'rejected',
      /responded with 403 SignatureDoesNotMatch; the signature does not match/,
    ],
    [
      403,
      xmlError('AccessDenied', 'There were headers present which were not signed'),
      'rejected',
      /403 AccessDenied/,
    ],
    [403, 'Forbidden', 'rejected', /responded with 403;/],
    [401, '', 'rejected', /responded with 401;/],
    [
      400,
      xmlError('EntityTooLarge', 'too large'),
      'too_large',
      /EntityTooLarge; lower the batch limits/,
    ],
    [413, '', 'too_large', /responded with 413; lower the batch limits/],
    [400, xmlError('BadDigest', 'x'), 'rejected', /400 BadDigest/],
    [411, xmlError('MissingContentLength', 'x'), 'rejected', /411/],
    [404, xmlError('NoSuchBucket', 'x'), 'not_found', /404 NoSuchBucket/],
    [400, xmlError('two words <b>', 'x'), 'rejected', /responded with 400;/],
    [403, xmlError('CodeOfNobody', 'x'), 'rejected', /responded with 403;/],
    [409, xmlError('RequestBodyTooLarge', 'x'), 'too_large', /409 RequestBodyTooLarge/],
  ];
  for (const [status, body, failure, message] of expected) {
    const server = await httpServer(t, (response) =>
      response.writeHead(status, { 'content-type': 'application/xml' }).end(body),
    );
    const { client } = clientFor(t, 'http://127.0.0.1:9');
    await assert.rejects(
      client.upload(`${server.url}/k?sig=hunter22`, BODY, CSV),
      (error: Error) => {
        assert.match(error.message, message);
        assert.ok(!/hunter22|secret-string/.test(error.message), error.message);
        return true;
      },
    );
    await assert.rejects(client.upload(server.url, BODY, CSV), {
      failure,
      status,
      operation: 'upload',
    });
    assert.equal(server.seen.length, 2, 'final responses are not retried');
  }
});

test('a busy or slow storage gets the same body again', async (t) => {
  const answers: [number, string][] = [
    [503, xmlError('SlowDown', 'x')],
    [500, xmlError('InternalError', 'x')],
    [429, ''],
    [400, xmlError('RequestTimeout', 'x')],
  ];
  const server = await httpServer(t, (response, _, index) => {
    const [status, body] = answers[index] ?? [200, ''];
    response.writeHead(status, { 'content-type': 'application/xml' }).end(body);
  });
  const { client, observer } = clientFor(t, 'http://127.0.0.1:9');
  await client.upload(server.url, BODY, CSV);
  assert.deepEqual(observer.retries, ['upload 503', 'upload 500', 'upload 429', 'upload 400']);
  assert.ok(server.seen.every((request) => request.body.equals(BODY)));
  assert.equal(observer.orphans, 0);
});

test('after an upload its body may be overwritten, even if the storage responded before it had read the body', async (t) => {
  const body = Buffer.alloc(32 * 1024 * 1024, 'a');
  const answered = Promise.withResolvers<Socket>();
  const over = Promise.withResolvers<void>();
  let bodyBytes = -1;
  const server = await rawServer(t, (socket, received) => {
    if (bodyBytes === -1) {
      socket.on('close', over.resolve).pause();
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n', () => answered.resolve(socket));
    }
    bodyBytes = received.length - received.indexOf('\r\n\r\n') - 4;
    if (bodyBytes >= body.length) over.resolve();
  });
  await clientFor(t, 'http://127.0.0.1:9').client.upload(server.url, body, CSV);
  body.fill('b');
  (await answered.promise).resume();
  await over.promise;
  assert.ok(bodyBytes > 0);
  assert.equal(server.received[0]?.slice(-bodyBytes).indexOf('b'), -1);
});

test('an upload may take longer than other requests, by its size at the minimum speed', async (t) => {
  const answerLate = (afterMs: number) =>
    httpServer(t, (response) => {
      setTimeout(() => response.end(), afterMs);
    });
  const body = Buffer.alloc(1000);
  const slow = await answerLate(400);
  const settings = { headersTimeoutMs: 100, retry: { maxRetries: 0 } };
  await clientFor(t, 'http://127.0.0.1:9', {
    ...settings,
    minUploadBytesPerSecond: 500,
  }).client.upload(slow.url, body, CSV);
  const tooSlow = await answerLate(4000);
  const hasty = clientFor(t, 'http://127.0.0.1:9', {
    ...settings,
    minUploadBytesPerSecond: 1_000_000,
  });
  await assert.rejects(hasty.client.upload(tooSlow.url, body, CSV), {
    failure: 'unavailable',
    message: /did not respond in time/,
  });
});

test('all four kinds of redirects keep method, body and type', async (t) => {
  for (const status of [301, 302, 307, 308]) {
    const target = await httpServer(t, (response) => response.end());
    const server = await httpServer(t, (response) =>
      response.writeHead(status, { location: `${target.url}/there?sig=2` }).end(),
    );
    const { client, observer } = clientFor(t, 'http://127.0.0.1:9');
    await client.upload(`${server.url}/here?sig=1`, BODY, CSV);
    const [request] = target.seen;
    assert.deepEqual(
      [request?.method, request?.url, request?.headers['content-type']],
      ['PUT', '/there?sig=2', 'text/csv'],
    );
    assert.ok(request?.body.equals(BODY));
    assert.deepEqual(observer.requests, [`upload ${status}`, 'upload 200']);
  }
});

test('a relative redirect stays on its host, and the third redirect is the last', async (t) => {
  const server = await httpServer(t, (response, request) => {
    const step = Number(request.path.slice(1));
    if (step === 0) response.end();
    else response.writeHead(307, { location: `/${step - 1}` }).end();
  });
  const { client } = clientFor(t, 'http://127.0.0.1:9');
  await client.upload(`${server.url}/3`, BODY, CSV);
  assert.equal(server.seen.length, 4);
  await assert.rejects(client.upload(`${server.url}/4`, BODY, CSV), {
    failure: 'protocol',
    message: /redirects more than 3 times/,
  });
});

test('an abort immediately ends an upload, even while it waits for a connection', async (t) => {
  const arrived = Promise.withResolvers<void>();
  const server = await httpServer(t, () => arrived.resolve());
  const { client } = clientFor(t, 'http://127.0.0.1:9', { maxConcurrentTransfers: 1 });
  const running = new AbortController();
  const waiting = new AbortController();
  const first = client.upload(server.url, BODY, {
    contentType: 'text/csv',
    signal: running.signal,
  });
  await arrived.promise;
  const second = client.upload(server.url, BODY, {
    contentType: 'text/csv',
    signal: waiting.signal,
  });
  const reason = new Error('shard lost');
  waiting.abort(reason);
  await assert.rejects(second, (error) => error === reason);
  running.abort(reason);
  await assert.rejects(first, (error) => error === reason);
  assert.equal(server.seen.length, 1);
});

test('calls, uploads and downloads each have their own limit of concurrency, and none waits for another kind', async (t) => {
  const held: (() => void)[] = [];
  const arrivals: (() => void)[] = [];
  const server = await httpServer(t, (response, { method }) => {
    if (method === 'GET') response.end('x');
    else {
      held.push(() => json(response, 200, CREATED));
      arrivals.shift()?.();
    }
  });
  const limits = { maxConcurrentRequests: 1, maxConcurrentTransfers: 1 };
  const { client } = clientFor(t, server.url, limits);
  for (const start of [
    () => client.upload(server.url, BODY, CSV),
    () => client.createBatch('email', NEVER),
  ]) {
    const three = [start(), start(), start()];
    for (let running = 0; running < three.length; running++) {
      if (held.length === 0) await new Promise<void>((resolve) => arrivals.push(resolve));
      for await (const _ of client.download(server.url, NEVER));
      assert.equal(held.length, 1);
      held.pop()?.();
    }
    await Promise.all(three);
  }
});

test('the API key is neither read nor sent in a transfer', async (t) => {
  const server = await httpServer(t, (response) => json(response, 200, {}));
  const { client } = clientFor(t, 'http://127.0.0.1:9', {
    apiKey: () => Promise.reject(new Error('asked')),
  });
  await client.upload(server.url, BODY, CSV);
  assert.equal(server.seen[0]?.headers.authorization, undefined);
});

/** Targets of connections: name resolution, redirects, extra headers, lost answers. */
import assert from 'node:assert/strict';
import type { LookupAddress } from 'node:dns';
import { test } from 'node:test';
import type { LookupAll } from '../../../src/http/dialer.ts';
import { clientFor, collect, httpServer, NEVER, rawServer } from './servers.ts';

const CSV = { contentType: 'text/csv', ...NEVER };
const BODY = Buffer.from('Content\r\nhello\r\n');
const HERE = 'http://127.0.0.1:9';
const AWAY = 'https://review.example.com';

/** Names resolve to these addresses, one answer after the other; the last one stays. */
function resolving(...answers: string[][]): {
  readonly lookup: LookupAll;
  readonly asked: string[];
} {
  const asked: string[] = [];
  const lookup: LookupAll = (host, _options, callback) => {
    const addresses = answers[Math.min(asked.push(host), answers.length) - 1] ?? [];
    callback(
      null,
      addresses.map(
        (address): LookupAddress => ({ address, family: address.includes(':') ? 6 : 4 }),
      ),
    );
  };
  return { lookup, asked };
}

const named = (url: string, host: string) => url.replace('127.0.0.1', host);

test('a name that resolves to a private address is not connected to; with both kinds only the public one is used', async (t) => {
  const server = await httpServer(t, (response) => response.end());
  for (const address of [
    '127.0.0.1',
    '10.0.0.1',
    '169.254.169.254',
    '::1',
    '::ffff:127.0.0.1',
    'fe80::1',
  ]) {
    const { client, observer } = clientFor(t, AWAY, {
      allowHttp: ['files.example.com'],
      lookup: resolving([address]).lookup,
    });
    const url = named(server.url, 'files.example.com');
    const refused = { failure: 'blocked', message: /its address is not a public one/ };
    await assert.rejects(client.upload(url, BODY, CSV), refused, address);
    await assert.rejects(collect(client.download(url, NEVER)), refused, address);
    assert.deepEqual(
      observer.requests,
      ['upload blocked', 'download blocked'],
      'and not tried again',
    );
  }
  // Of several addresses only the allowed ones are tried.
  const allowPrivate = ['127.0.0.0/8'];
  const { client } = clientFor(t, AWAY, {
    allowHttp: ['f.example.com'],
    allowPrivate,
    ...resolving(['10.0.0.1', '127.0.0.1']),
  });
  await client.upload(named(server.url, 'f.example.com'), BODY, CSV);
  assert.equal(server.seen.length, 1);
});

test('a name is checked for each connection, in the very answer that is connected to', async (t) => {
  const server = await httpServer(t, (response) =>
    response.writeHead(200, { connection: 'close' }).end(),
  );
  const allowPrivate = ['127.0.0.0/8'];
  const dns = resolving(['127.0.0.1'], ['169.254.169.254'], ['10.0.0.1']);
  const { client } = clientFor(t, AWAY, {
    allowHttp: ['files.example.com'],
    allowPrivate,
    lookup: dns.lookup,
  });
  const url = named(server.url, 'files.example.com');
  await client.upload(url, BODY, CSV);
  await assert.rejects(client.upload(url, BODY, CSV), { failure: 'blocked' });
  await assert.rejects(client.upload(url, BODY, CSV), { failure: 'blocked' });
  assert.deepEqual(
    [dns.asked.length, server.seen.length],
    [3, 1],
    'one question, one answer, one connection',
  );
});

test('the service itself may be anywhere, and no transfer uses its connections', async (t) => {
  const server = await httpServer(t, (response) =>
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end('{"batch_id":"b","upload_url":"https://x.example/"}'),
  );
  const baseUrl = named(server.url, 'review.corp');
  const { client } = clientFor(t, baseUrl, {
    allowHttp: ['review.corp'],
    ...resolving(['127.0.0.1']),
  });
  await client.createBatch('email', NEVER);
  await assert.rejects(client.upload(`${baseUrl}/file`, BODY, CSV), { failure: 'blocked' });
  const allowed = clientFor(t, baseUrl, {
    allowHttp: ['review.corp'],
    allowPrivate: ['review.corp'],
    ...resolving(['127.0.0.1']),
  });
  await allowed.client.upload(`${baseUrl}/file`, BODY, CSV);
});

test('baseUrl by http is refused unless it is this machine or allowed by name', (t) => {
  assert.throws(() => clientFor(t, 'http://review.corp'), {
    name: 'TypeError',
    message: /API key travels in the clear.*allowHttp with review\.corp/,
  });
  clientFor(t, 'http://review.corp', { allowHttp: ['*.corp'] });
  clientFor(t, 'http://localhost:8090');
  clientFor(t, 'http://[::1]:8090');
});

test('each redirect goes through the same checks', async (t) => {
  const target = await httpServer(t, (response) => response.end());
  const locations = [
    ['https://169.254.169.254/latest/meta-data/', /not a public one/],
    ['http://files.example.com/', /http is for hosts of service\.allowHttp only/],
    ['https://[::ffff:a9fe:a9fe]/', /not a public one/],
  ] as const;
  for (const [location, message] of locations) {
    const server = await httpServer(t, (response) => response.writeHead(307, { location }).end());
    const { client } = clientFor(t, HERE, { retry: { maxRetries: 0 } });
    await assert.rejects(
      client.upload(server.url, BODY, CSV),
      { failure: 'blocked', message },
      location,
    );
  }
  const other = await httpServer(t, (response) =>
    response.writeHead(307, { location: target.url }).end(),
  );
  const { client } = clientFor(t, HERE, {
    transferHosts: [`127.0.0.1:${new URL(other.url).port}`],
  });
  await assert.rejects(client.upload(other.url, BODY, CSV), {
    failure: 'blocked',
    message: /not one of service\.transfer\.hosts/,
  });
  assert.equal(target.seen.length, 0);
});

test('extra headers go with each transfer, and to no other origin', async (t) => {
  const target = await httpServer(t, (response) => response.end());
  const server = await httpServer(t, (response, request) =>
    request.path === '/away'
      ? response.writeHead(307, { location: target.url }).end()
      : response.end('x'),
  );
  let sas = 'first';
  const { client } = clientFor(t, HERE, {
    uploadHeaders: { 'x-ms-blob-type': 'BlockBlob', 'x-secret': async () => sas },
    downloadHeaders: { 'x-ms-version': '2024-11-04' },
  });
  await client.upload(server.url, BODY, CSV);
  sas = 'rotated';
  await client.upload(`${server.url}/away`, BODY, CSV);
  await collect(client.download(server.url, NEVER));
  const [first, second, third] = server.seen.map(({ headers }) => headers);
  assert.deepEqual(
    [first?.['x-ms-blob-type'], first?.['x-secret'], first?.['x-ms-version']],
    ['BlockBlob', 'first', undefined],
  );
  assert.equal(second?.['x-secret'], 'rotated');
  assert.deepEqual([third?.['x-ms-version'], third?.['x-ms-blob-type']], ['2024-11-04', undefined]);
  assert.deepEqual(
    [target.seen[0]?.headers['x-ms-blob-type'], target.seen[0]?.headers['x-secret']],
    [undefined, undefined],
  );
  assert.equal(target.seen[0]?.headers['content-type'], 'text/csv');
});

test('a header that follows from the request, or is not for a storage, cannot be an extra one', (t) => {
  for (const name of [
    'Authorization',
    'content-length',
    'Content-Type',
    'HOST',
    'transfer-encoding',
    'proxy-authorization',
    'Range',
    'cookie',
    'a b',
    '',
  ]) {
    assert.throws(
      () => clientFor(t, HERE, { uploadHeaders: { [name]: 'hunter2' } }),
      (error: Error) => {
        assert.ok(error instanceof TypeError && !error.message.includes('hunter2'), error.message);
        return true;
      },
    );
  }
  assert.throws(() => clientFor(t, HERE, { downloadHeaders: { 'x-secret': 'hunter2\n' } }), {
    name: 'TypeError',
    message: 'the extra header "x-secret": its value has characters that no header can carry',
  });
});

test('a failed upload reports that it may have arrived once an answer was lost, or a gateway broke down', async (t) => {
  const expired = '<Error><Code>AccessDenied</Code><Message>Request has expired</Message></Error>';
  const answers: [number | 'reset', boolean][] = [
    ['reset', true],
    [502, true],
    [500, true],
    [503, false],
    [429, false],
  ];
  // It asks to look elsewhere for what became of the request.
  const seeOther = await httpServer(t, (response) =>
    response.writeHead(303, { location: '/done' }).end(),
  );
  await assert.rejects(clientFor(t, HERE).client.upload(seeOther.url, BODY, CSV), {
    failure: 'protocol',
    mayHaveArrived: true,
  });
  for (const [first, mayHaveArrived] of answers) {
    const server = await rawServer(t, (socket, received, connection) => {
      if (!received.endsWith('hello\r\n')) return;
      if (connection > 0)
        socket.end(`HTTP/1.1 403 No\r\ncontent-length: ${expired.length}\r\n\r\n${expired}`);
      else if (first === 'reset') socket.resetAndDestroy();
      else socket.end(`HTTP/1.1 ${first} No\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
    });
    await assert.rejects(
      clientFor(t, HERE).client.upload(server.url, BODY, CSV),
      { failure: 'expired', mayHaveArrived },
      String(first),
    );
  }
  const dead = clientFor(t, HERE, { retry: { maxRetries: 1 } }).client.upload(
    'http://127.0.0.1:1/',
    BODY,
    CSV,
  );
  await assert.rejects(dead, { failure: 'unavailable', mayHaveArrived: false });
});

test('an unreadable or invalid value of an extra header is transient, and keeps `mayHaveArrived`', async (t) => {
  const expired = '<Error><Code>AccessDenied</Code><Message>Request has expired</Message></Error>';
  const unreadable = () => Promise.reject(new Error('hunter22secret'));
  for (const broken of [unreadable, () => 'hunter22\nsecret', () => 'hunter22\u20ac']) {
    const server = await httpServer(t, (response, _, index) =>
      response.writeHead(index === 0 ? 500 : 403).end(index === 0 ? '' : expired),
    );
    const values = [() => 'good', broken, () => 'good'];
    const { client, observer } = clientFor(t, HERE, {
      uploadHeaders: { 'x-secret': () => (values.shift() ?? broken)() },
    });
    await assert.rejects(client.upload(server.url, BODY, CSV), {
      failure: 'expired',
      mayHaveArrived: true,
    });
    assert.deepEqual(observer.retries, ['upload 500', 'upload no_header']);
    const never = clientFor(t, HERE, {
      downloadHeaders: { 'x-secret': broken },
      retry: { maxRetries: 0 },
    }).client;
    await assert.rejects(
      collect(never.download(server.url, NEVER)),
      (error: Error & { failure: string }) => {
        assert.match(
          error.message,
          /cannot read the extra header "x-secret", or its value is invalid/,
        );
        return error.failure === 'unavailable' && !error.message.includes('hunter22');
      },
    );
  }
});

test('each host of transfers is reported once, before its first use', async (t) => {
  const server = await httpServer(t, (response) => response.end());
  const { client, observer } = clientFor(t, HERE);
  await client.upload(server.url, BODY, CSV);
  await client.upload(`${server.url}/again?X-Amz-Signature=hunter2`, BODY, CSV);
  assert.deepEqual(observer.hosts, [new URL(server.url).host]);
});

test('an answer that consists of interim answers only is given up', async (t) => {
  const server = await rawServer(t, (socket, received) => {
    if (!received.endsWith('hello\r\n') && !received.endsWith('\r\n\r\n')) return;
    const timer = setInterval(() => socket.write('HTTP/1.1 103 Early Hints\r\n\r\n'), 20);
    socket.once('close', () => clearInterval(timer));
  });
  const { client } = clientFor(t, HERE, { headersTimeoutMs: 100, retry: { maxRetries: 0 } });
  const late = { failure: 'unavailable', message: /did not answer in time/ };
  await assert.rejects(client.upload(server.url, BODY, CSV), { ...late, mayHaveArrived: true });
  await assert.rejects(collect(client.download(server.url, NEVER)), late);
});

test('an answer with excessive headers is not read', async (t) => {
  const server = await httpServer(t, (response) => {
    for (let n = 0; n < 40; n++) response.setHeader(`x-padding-${n}`, 'x'.repeat(1000));
    response.end();
  });
  await assert.rejects(collect(clientFor(t, HERE).client.download(server.url, NEVER)), {
    failure: 'protocol',
  });
});

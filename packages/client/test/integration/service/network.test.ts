/** Targets of connections: name resolution, redirects, extra headers, lost responses. */
import assert from 'node:assert/strict';
import type { LookupAddress } from 'node:dns';
import { test } from 'node:test';
import type { LookupAll } from '../../../src/http/dialer.ts';
import { clientFor, collect, httpServer, NEVER, rawServer } from './servers.ts';

const CSV = { contentType: 'text/csv', ...NEVER };
const BODY = Buffer.from('Content\r\nhello\r\n');
const HERE = 'http://127.0.0.1:9';
const AWAY = 'https://review.example.com';

/** Lookup that returns the given lists one after another, then repeats the last list. */
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

test('no connection is made to a private address of a name; if a name has both kinds, only the public one is used', async (t) => {
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
    const refused = { failure: 'blocked', message: /its address is not public/ };
    await assert.rejects(client.upload(url, BODY, CSV), refused, address);
    await assert.rejects(collect(client.download(url, NEVER)), refused, address);
    assert.deepEqual(
      observer.requests,
      ['upload blocked', 'download blocked'],
      'and not tried again',
    );
  }
  // If there are several addresses, only allowed addresses are tried.
  const allowPrivate = ['127.0.0.0/8'];
  const { client } = clientFor(t, AWAY, {
    allowHttp: ['f.example.com'],
    allowPrivate,
    ...resolving(['10.0.0.1', '127.0.0.1']),
  });
  await client.upload(named(server.url, 'f.example.com'), BODY, CSV);
  assert.equal(server.seen.length, 1);
});

test('a name is checked for each connection, in the lookup that the connection itself uses', async (t) => {
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
  assert.deepEqual([dns.asked.length, server.seen.length], [3, 1], 'one lookup per connection');
});

test('the service may have any address, and no transfer uses its connections', async (t) => {
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

test('each redirect goes through the same checks', async (t) => {
  const target = await httpServer(t, (response) => response.end());
  const locations = [
    ['https://169.254.169.254/latest/meta-data/', /address is not public/],
    ['http://files.example.com/', /only allowed for the hosts of service\.allowHttp/],
    ['https://[::ffff:a9fe:a9fe]/', /address is not public/],
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

test('extra headers are sent with each upload, but to no other origin', async (t) => {
  const target = await httpServer(t, (response) => response.end());
  const server = await httpServer(t, (response, request) =>
    request.path === '/away'
      ? response.writeHead(307, { location: target.url }).end()
      : response.end('x'),
  );
  let sas = 'first';
  const { client } = clientFor(t, HERE, {
    uploadHeaders: { 'x-ms-blob-type': 'BlockBlob', 'x-secret': async () => sas },
  });
  await client.upload(server.url, BODY, CSV);
  sas = 'rotated';
  await client.upload(`${server.url}/away`, BODY, CSV);
  await collect(client.download(server.url, NEVER));
  const [first, second, third] = server.seen.map(({ headers }) => headers);
  assert.deepEqual([first?.['x-ms-blob-type'], first?.['x-secret']], ['BlockBlob', 'first']);
  assert.equal(second?.['x-secret'], 'rotated');
  assert.equal(third?.['x-ms-blob-type'], undefined);
  assert.deepEqual(
    [target.seen[0]?.headers['x-ms-blob-type'], target.seen[0]?.headers['x-secret']],
    [undefined, undefined],
  );
  assert.equal(target.seen[0]?.headers['content-type'], 'text/csv');
});

test('a failed upload reports that it may have arrived if a response was lost or a gateway failed', async (t) => {
  const expired = '<Error><Code>AccessDenied</Code><Message>Request has expired</Message></Error>';
  const answers: [number | 'reset', boolean][] = [
    ['reset', true],
    [502, true],
    [500, true],
    [503, false],
    [429, false],
  ];
  // A 303 means that the request itself was processed.
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

/** Tests with a real proxy: tunnels, and credentials that are never shown. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspect } from 'node:util';
import { proxyFromEnvironment } from '../../../src/http/proxy.ts';
import { clientFor, collect, deadAddress, NEVER } from './servers.ts';
import { httpsServer, pem, proxyServer } from './tls-servers.ts';

const CREATED = {
  body: JSON.stringify({ batch_id: 'b-1', upload_url: 'https://files.example.com/x' }),
};
const CSV = { contentType: 'text/csv', ...NEVER };
const TLS = { tls: { ca: [pem('ca.pem')] } };
const BASIC = `Basic ${Buffer.from('me:hunter22secret').toString('base64')}`;

/** Sends requests through the proxy at `url`. */
const through = (url: string, credentials?: string) => {
  const address = credentials ? url.replace('://', `://${credentials}@`) : url;
  return { proxy: proxyFromEnvironment({ HTTPS_PROXY: address }) };
};

test('calls and transfers go through a tunnel, and only the proxy receives its credentials', async (t) => {
  const proxy = await proxyServer(t, ({ authorization }) =>
    authorization === BASIC ? undefined : 407,
  );
  const seen: (string | undefined)[] = [];
  const { port } = await httpsServer(t, (request) => {
    seen.push(
      `${request.method} ${request.headers.host} ${request.headers['proxy-authorization']}`,
    );
    return CREATED;
  });
  const base = `https://review.example.com:${port}`;
  const { client } = clientFor(t, base, {
    ...TLS,
    ...through(proxy.url, 'me:hunter22secret'),
  });
  await client.createBatch('email', NEVER);
  await client.upload(
    `https://files.example.com:${port}/x?X-Amz-Signature=1`,
    Buffer.from('x'),
    CSV,
  );
  await collect(client.download(`https://files.example.com:${port}/x`, NEVER));
  assert.deepEqual(
    new Set(proxy.seen.map(({ what }) => what)),
    new Set([`CONNECT review.example.com:${port}`, `CONNECT files.example.com:${port}`]),
  );
  assert.deepEqual(seen, [
    `POST review.example.com:${port} undefined`,
    `PUT files.example.com:${port} undefined`,
    `GET files.example.com:${port} undefined`,
  ]);
});

test('behind a proxy a literal address is still checked; names are resolved by the proxy', async (t) => {
  const proxy = await proxyServer(t);
  const { port } = await httpsServer(t, () => CREATED);
  const { client } = clientFor(t, 'https://review.example.com', {
    ...TLS,
    ...through(proxy.url),
  });
  for (const host of ['10.0.0.1', '169.254.169.254', '[::ffff:127.0.0.1]']) {
    await assert.rejects(client.upload(`https://${host}:${port}/x`, Buffer.from('x'), CSV), {
      failure: 'blocked',
    });
  }
  assert.deepEqual(proxy.seen, []);
  await client.upload(`https://files.example.com:${port}/x`, Buffer.from('x'), CSV);
});

test('the error names a proxy that refuses, requires credentials, is missing or hangs, but not its credentials', async (t) => {
  const secret = /hunter22secret|aHVudGVy|bWU6|X-Amz-Signature/;
  const cases: [string, RegExp][] = [
    [
      (await proxyServer(t, () => 407)).url,
      /the proxy did not forward the request \(HTTP_407\).*requires a user and a password/,
    ],
    [
      (await proxyServer(t, () => 403)).url,
      /the proxy did not forward the request \(HTTP_403\).*NO_PROXY/,
    ],
    [await deadAddress(), /the proxy did not forward the request \(ECONNREFUSED\)/],
  ];
  for (const [url, message] of cases) {
    const settings = { retry: { maxRetries: 1 }, ...through(url, 'me:hunter22secret') };
    const { client: caller, observer } = clientFor(t, 'https://review.example.com', settings);
    await assert.rejects(
      caller.createBatch('email', NEVER),
      (error: Error & { failure: string }) => {
        assert.equal(error.failure, 'unavailable');
        assert.match(error.message, message);
        assert.doesNotMatch(inspect(error, { depth: null, showHidden: true }), secret);
        return true;
      },
    );
    assert.equal(observer.orphans, 0, 'nothing was sent');
    const { client } = clientFor(t, 'https://review.example.com', {
      retry: { maxRetries: 0 },
      ...through(url),
    });
    await assert.rejects(
      client.upload('https://files.example.com/?X-Amz-Signature=1', Buffer.from('x'), CSV),
      (error: Error) => {
        assert.doesNotMatch(inspect(error, { depth: null, showHidden: true }), secret);
        return true;
      },
    );
  }
});

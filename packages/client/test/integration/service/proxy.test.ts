/** A real proxy on the way: tunnels for https, whole addresses for http, credentials that stay hidden. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { inspect } from 'node:util';
import { certificateAuthority } from '../../../../../test/support/certificates.ts';
import { temporaryDirectory } from '../../../../../test/support/temporary-directory.ts';
import { type ProxySetting, proxyRules } from '../../../src/http/proxy.ts';
import { clientFor, collect, deadAddress, httpServer, NEVER } from './servers.ts';
import { httpsServer, pem, proxyServer } from './tls-servers.ts';

const CREATED = {
  body: JSON.stringify({ batch_id: 'b-1', upload_url: 'https://files.example.com/x' }),
};
const CSV = { contentType: 'text/csv', ...NEVER };
const TLS = { tls: { ca: [pem('ca.pem')] } };
const BASIC = `Basic ${Buffer.from('me:hunter22secret').toString('base64')}`;

const through = (setting: ProxySetting, env: Record<string, string> = {}) => ({
  proxy: proxyRules(setting, env),
});

test('calls and transfers go through a tunnel, with the credentials of the proxy for the proxy alone', async (t) => {
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
    ...through({ url: proxy.url, credentials: () => 'me:hunter22secret' }),
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

test('http, where it is allowed, goes to the proxy as a whole address', async (t) => {
  const proxy = await proxyServer(t, ({ authorization }) =>
    authorization === BASIC ? undefined : 407,
  );
  const server = await httpServer(t, (response) => response.end(CREATED.body));
  const { port } = new URL(server.url);
  const settings = {
    allowHttp: ['*.corp'],
    ...through({ url: proxy.url, credentials: 'me:hunter22secret' }),
  };
  const { client } = clientFor(t, `http://review.corp:${port}`, settings);
  await client.createBatch('email', NEVER);
  await client.upload(`http://files.corp:${port}/x?sig=1`, Buffer.from('x'), CSV);
  assert.deepEqual(
    proxy.seen.map(({ what }) => what),
    [`POST http://review.corp:${port}/v1/batches`, `PUT http://files.corp:${port}/x?sig=1`],
  );
  assert.deepEqual(
    server.seen.map(({ headers }) => headers.host),
    [`review.corp:${port}`, `files.corp:${port}`],
  );
});

test('a proxy that is reached by https shows a certificate of its own name, not of the target', async (t) => {
  const authority = certificateAuthority('Proxies');
  const { certificate: cert, key } = authority.issue({ name: 'proxy', hosts: ['localhost'] });
  const proxy = await proxyServer(t, undefined, { cert, key });
  const { port } = await httpsServer(t, () => CREATED);
  const ca = path.join(temporaryDirectory(), 'ca.pem');
  writeFileSync(ca, authority.certificate);
  const clientOf = (url: string) =>
    clientFor(t, `https://review.example.com:${port}`, {
      tls: { ca: [pem('ca.pem'), ca] },
      allowHttp: ['*.corp'],
      retry: { maxRetries: 0 },
      ...through({ url }),
    }).client;
  const honest = clientOf(proxy.url);
  await honest.createBatch('email', NEVER);
  const plain = await httpServer(t, (response) => response.end());
  for (const host of ['a.corp', 'b.corp'])
    await honest.upload(`${plain.url.replace('127.0.0.1', host)}/x`, Buffer.from('x'), CSV);
  assert.equal(plain.seen.length, 2);
  await assert.rejects(
    clientOf(proxy.url.replace('localhost', '127.0.0.1')).createBatch('email', NEVER),
    {
      failure: 'unavailable',
      message: /the proxy did not let the request through \(ERR_TLS_CERT_ALTNAME_INVALID\)/,
    },
  );
});

test('HTTPS_PROXY and NO_PROXY of the environment hold, in both spellings', async (t) => {
  const proxy = await proxyServer(t);
  const { port } = await httpsServer(t, () => CREATED);
  const lookup = (
    _: string,
    __: object,
    done: (error: null, addresses: { address: string; family: number }[]) => void,
  ) => done(null, [{ address: '127.0.0.1', family: 4 }]);
  const envs = [
    { HTTPS_PROXY: proxy.url },
    { https_proxy: proxy.url, no_proxy: 'other.example.com' },
  ];
  for (const env of envs) {
    const { client } = clientFor(t, `https://review.example.com:${port}`, {
      ...TLS,
      ...through('environment', env),
    });
    await client.createBatch('email', NEVER);
  }
  assert.equal(proxy.seen.length, 2);
  for (const env of [
    { HTTPS_PROXY: proxy.url, NO_PROXY: '.example.com' },
    { HTTP_PROXY: proxy.url },
  ]) {
    const { client } = clientFor(t, `https://review.example.com:${port}`, {
      ...TLS,
      lookup,
      ...through('environment', env),
    });
    await client.createBatch('email', NEVER);
  }
  await clientFor(t, `https://127.0.0.1:${port}`, {
    ...TLS,
    ...through({ url: proxy.url }),
  }).client.createBatch('email', NEVER);
  assert.equal(proxy.seen.length, 2, 'directly');
});

test('behind a proxy a literal address is still checked; names are resolved by the proxy', async (t) => {
  const proxy = await proxyServer(t);
  const { port } = await httpsServer(t, () => CREATED);
  const { client } = clientFor(t, 'https://review.example.com', {
    ...TLS,
    ...through({ url: proxy.url }),
  });
  for (const host of ['10.0.0.1', '169.254.169.254', '[::ffff:127.0.0.1]']) {
    await assert.rejects(client.upload(`https://${host}:${port}/x`, Buffer.from('x'), CSV), {
      failure: 'blocked',
    });
  }
  assert.deepEqual(proxy.seen, []);
  await client.upload(`https://files.example.com:${port}/x`, Buffer.from('x'), CSV);
});

test('a proxy that refuses, requires credentials, is missing or hangs is named in the error, its credentials are not', async (t) => {
  const secret = /hunter22secret|aHVudGVy|bWU6|X-Amz-Signature/;
  const cases: [string, RegExp][] = [
    [
      (await proxyServer(t, () => 407)).url,
      /the proxy did not let the request through \(HTTP_407\).*requires a user and a password/,
    ],
    [
      (await proxyServer(t, () => 403)).url,
      /the proxy did not let the request through \(HTTP_403\).*NO_PROXY/,
    ],
    [await deadAddress(), /the proxy did not let the request through \(ECONNREFUSED\)/],
  ];
  for (const [url, message] of cases) {
    for (const base of ['https://review.example.com', 'http://review.corp']) {
      const settings = {
        retry: { maxRetries: 1 },
        allowHttp: ['*.corp'],
        ...through({ url, credentials: 'me:hunter22secret' }),
      };
      const { client, observer } = clientFor(t, base, settings);
      await assert.rejects(
        client.createBatch('email', NEVER),
        (error: Error & { failure: string }) => {
          // A 403 to plain http may be the service's own.
          if (base.startsWith('https:') || !message.source.includes('403'))
            assert.equal(error.failure, 'unavailable');
          if (base.startsWith('https:')) assert.match(error.message, message);
          assert.doesNotMatch(inspect(error, { depth: null, showHidden: true }), secret);
          return true;
        },
      );
      assert.equal(observer.orphans, 0, 'nothing was sent');
    }
    const { client } = clientFor(t, 'https://review.example.com', {
      retry: { maxRetries: 0 },
      ...through({ url }),
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

/** Certificates: authorities of one's own, client certificates, rotation, and what errors say to do. */
import assert from 'node:assert/strict';
import { copyFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { temporaryDirectory } from '../../../../../test/support/temporary-directory.ts';
import { clientFor, httpServer, NEVER } from './servers.ts';
import { httpsServer, pem } from './tls-servers.ts';

const CREATED = {
  body: JSON.stringify({ batch_id: 'b-1', upload_url: 'https://files.example.com/x' }),
};
const CSV = { contentType: 'text/csv', ...NEVER };
const ONCE = { retry: { maxRetries: 0 } };
const lookup = (
  _host: string,
  _options: object,
  done: (error: null, addresses: { address: string; family: number }[]) => void,
) => done(null, [{ address: '127.0.0.1', family: 4 }]);

test('a private authority is trusted for the service and the storage, in addition to the ones that Node.js knows', async (t) => {
  const { port } = await httpsServer(t, () => CREATED);
  const url = `https://127.0.0.1:${port}`;
  const unknown = {
    failure: 'unavailable',
    message: /authority is not trusted here: .*service\.tls\.ca.*NODE_EXTRA_CA_CERTS/,
  };
  await assert.rejects(clientFor(t, url, ONCE).client.createBatch('email', NEVER), unknown);
  const { client } = clientFor(t, url, { ...ONCE, tls: { ca: [pem('ca.pem')] } });
  assert.equal((await client.createBatch('email', NEVER)).batchId, 'b-1');
  await client.upload(`${url}/file`, Buffer.from('x'), CSV);
  // One file may be missing of several; a certificate that signed itself is its own authority.
  const { port: selfPort } = await httpsServer(t, () => CREATED, { certificate: 'self' });
  await assert.rejects(
    clientFor(t, `https://localhost:${selfPort}`, ONCE).client.createBatch('email', NEVER),
    unknown,
  );
  const self = clientFor(t, `https://localhost:${selfPort}`, {
    tls: { ca: [pem('ca.pem'), pem('self.pem')] },
  });
  await self.client.createBatch('email', NEVER);
});

test('a client certificate goes to the service, and to no storage', async (t) => {
  const shown: (string | undefined)[] = [];
  const note = (request: { socket: unknown }) => {
    shown.push(
      (request.socket as TLSSocket).getPeerCertificate().subject?.CN as string | undefined,
    );
    return CREATED;
  };
  const { port } = await httpsServer(t, note, { requestCert: true, rejectUnauthorized: false });
  const tls = { ca: [pem('ca.pem')], certificate: pem('client.pem'), key: pem('client.key') };
  const { client } = clientFor(t, `https://127.0.0.1:${port}`, { tls });
  await client.createBatch('email', NEVER);
  await client.upload(`https://127.0.0.1:${port}/file`, Buffer.from('x'), CSV);
  assert.deepEqual(shown, ['client', undefined]);
});

test('changed files are read again for the next connection', async (t) => {
  const ca = path.join(temporaryDirectory(), 'ca.pem');
  copyFileSync(pem('self.pem'), ca);
  const { port } = await httpsServer(t, () => ({ ...CREATED, headers: { connection: 'close' } }));
  const { client } = clientFor(t, `https://127.0.0.1:${port}`, { ...ONCE, tls: { ca: [ca] } });
  await assert.rejects(client.createBatch('email', NEVER), { failure: 'unavailable' });
  copyFileSync(pem('ca.pem'), ca);
  await client.createBatch('email', NEVER);
  // What cannot be used does not take the place of what could.
  copyFileSync(pem('server.key'), ca);
  await client.createBatch('email', NEVER);
});

test('unusable files are refused at once, by name, without their content', (t) => {
  const cases: [object, RegExp][] = [
    [{ ca: ['/nowhere/ca.pem'] }, /\/nowhere\/ca\.pem cannot be read \(ENOENT\)/],
    [{ ca: [pem('server.key')] }, /server\.key holds no certificate/],
    [{ certificate: pem('client.pem') }, /certificate and key go together/],
    [{ certificate: pem('client.pem'), key: pem('server.key') }, /do not belong together/],
  ];
  for (const [tls, message] of cases) {
    assert.throws(
      () => clientFor(t, 'https://review.example.com', { tls }),
      (error: Error) =>
        error instanceof TypeError &&
        message.test(error.message) &&
        !/BEGIN|MII|MIG/.test(error.message),
    );
  }
});

test('a redirect from https to http is refused on this side, so that no record is given up for it', async (t) => {
  const target = await httpServer(t, (response) => response.end());
  const { port } = await httpsServer(t, () => ({
    status: 307,
    headers: { location: `${target.url}/there` },
  }));
  const { client, observer } = clientFor(t, 'http://localhost:1', {
    ...ONCE,
    tls: { ca: [pem('ca.pem')] },
  });
  const refused = { failure: 'blocked', message: /from https to http/, mayHaveArrived: false };
  await assert.rejects(
    client.upload(`https://127.0.0.1:${port}/file`, Buffer.from('x'), CSV),
    refused,
  );
  assert.deepEqual(observer.requests, ['upload 307', 'upload blocked']);
  assert.equal(target.seen.length, 0);
});

test('https to an http port, a server of HTTP/2 only, and a certificate of another host are named in the error', async (t) => {
  const plain = await httpServer(t, (response) => response.end());
  const wrong = clientFor(t, plain.url.replace('http:', 'https:'), ONCE).client;
  await assert.rejects(wrong.createBatch('email', NEVER), {
    failure: 'unavailable',
    message: /does not speak TLS: is it http, or another port/,
  });
  const modern = await httpsServer(t, () => CREATED, { ALPNProtocols: ['h2'] });
  const old = clientFor(t, `https://127.0.0.1:${modern.port}`, {
    ...ONCE,
    tls: { ca: [pem('ca.pem')] },
  }).client;
  await assert.rejects(old.createBatch('email', NEVER), {
    failure: 'unavailable',
    message: /does not offer HTTP\/1\.1/,
  });
  const { port } = await httpsServer(t, () => CREATED);
  const other = clientFor(t, `https://other.test:${port}`, {
    ...ONCE,
    lookup,
    tls: { ca: [pem('ca.pem')] },
  }).client;
  await assert.rejects(other.createBatch('email', NEVER), {
    failure: 'unavailable',
    message: /certificate belongs to another host/,
  });
});

/** Certificates: private authorities, client certificates, rotation, and the advice in errors. */
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
test('a private authority is trusted for the service and the storage, in addition to those that Node.js trusts', async (t) => {
  const { port } = await httpsServer(t, () => CREATED);
  const url = `https://127.0.0.1:${port}`;
  const unknown = {
    failure: 'unavailable',
    message: /authority that is not trusted here: .*service\.tls\.ca.*NODE_EXTRA_CA_CERTS/,
  };
  await assert.rejects(clientFor(t, url, ONCE).client.createBatch('email', NEVER), unknown);
  const { client } = clientFor(t, url, { ...ONCE, tls: { ca: [pem('ca.pem')] } });
  assert.equal((await client.createBatch('email', NEVER)).batchId, 'b-1');
  await client.upload(`${url}/file`, Buffer.from('x'), CSV);
  // Each file adds its authorities. A self-signed certificate is its own authority.
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

test('a client certificate is sent to the service, but not to a storage', async (t) => {
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
  // Unusable files do not replace the last usable files.
  copyFileSync(pem('server.key'), ca);
  await client.createBatch('email', NEVER);
});

test('a redirect from https to http is `blocked`, so that no record becomes a dead letter because of it', async (t) => {
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

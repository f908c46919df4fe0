/** Doctor checks of the service: address, certificate expiry, clock difference, proxy. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { after, test } from 'node:test';
import { doctorService } from '../../../src/app/tools/doctor-service.ts';
import { parseConfig } from '../../../src/config/load.ts';
import { ServiceError } from '../../../src/core/outcome/service-error.ts';
import { certificateAuthority } from '../../support/certificates.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const AHEAD_MS = 120_000;
const SIGNAL = new AbortController().signal;
const directory = temporaryDirectory();
const ca = certificateAuthority('Doctor CA');
const issued = ca.issue({ name: 'service', addresses: ['127.0.0.1'] });
writeFileSync(path.join(directory, 'ca.pem'), ca.certificate);
const server = createServer({ key: issued.key, cert: issued.certificate }, (request, response) => {
  const status = request.headers.authorization === 'Bearer right' ? 404 : 401;
  response.writeHead(status, { date: new Date(Date.now() + AHEAD_MS).toUTCString() }).end();
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
after(() => {
  server.close();
  server.closeAllConnections();
});
const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;

function service(section: string) {
  const text = `
kafka: {brokers: "127.0.0.1:1"}
service: {${section}}
pipelines: [{name: posts, source: {topic: events}}]
`;
  return doctorService(parseConfig(text, {}, { file: 'f', directory }));
}

const failureOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  );

test('a response reports whether the key is accepted and the time there; the certificates report when they end', async () => {
  for (const [key, failure] of [
    ['right', 'not_found'],
    ['wrong', 'unauthorized'],
  ] as const) {
    const { parts, client, certificates } = service(
      `baseUrl: "${url}/base/", apiKey: ${key}, tls: {ca: [ca.pem]}`,
    );
    try {
      assert.equal(parts.address, `${url}/base`);
      assert.equal(parts.clockAheadMs(), undefined);
      const error = await failureOf(parts.ask('review', SIGNAL));
      assert.ok(error instanceof ServiceError);
      assert.equal(error.failure, failure);
      assert.ok(Math.abs((parts.clockAheadMs() ?? 0) - AHEAD_MS) < 10_000);
      const ends = await certificates();
      assert.deepEqual(
        ends.map(({ whose }) => whose),
        ['an authority in service.tls.ca', "the service's certificate"],
      );
      for (const { endsMs } of ends) assert.ok(endsMs > Date.now());
    } finally {
      await client?.close();
    }
  }
});

test('an untrusted certificate fails the first request; its end is known nevertheless', async () => {
  const { parts, client, certificates } = service(`baseUrl: "${url}", apiKey: right`);
  try {
    const error = await failureOf(parts.ask('review', SIGNAL));
    assert.match((error as Error).message, /could not be trusted.*service\.tls\.ca/);
    assert.equal((await certificates()).length, 1);
  } finally {
    await client?.close();
  }
});

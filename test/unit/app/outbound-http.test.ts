/** Requests to the schema registry and the token endpoint, through proxies of the environment and with separate CA files. */
import assert from 'node:assert/strict';
import { copyFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import {
  httpsServer,
  pem,
  proxyServer,
} from '../../../packages/client/test/integration/service/tls-servers.ts';
import { saslOptions } from '../../../src/app/kafka-connection.ts';
import { schemaRegistry } from '../../../src/app/schema-registry.ts';
import { outboundHttp } from '../../../src/app/service-client.ts';
import { parseConfig } from '../../../src/config/load.ts';
import type { Config } from '../../../src/config/schema.ts';
import { RegistryUnavailable } from '../../../src/events/registry/index.ts';
import { certificateAuthority } from '../../support/certificates.ts';
import { assertSilent } from '../../support/stack/canary.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const { signal } = new AbortController();
const SCHEMA = { body: JSON.stringify({ schema: '"string"' }) };
const TOKEN = { body: JSON.stringify({ access_token: 'token-1', expires_in: 60 }) };
const CREDENTIALS = 'me:hunter22secret';

interface Setup {
  readonly registry?: string;
  readonly ca?: string;
  readonly more?: string;
}

function configOf({
  registry = 'https://files.example.com:1',
  ca = pem('ca.pem'),
  more = '',
}: Setup): Config {
  const text = `
kafka:
  brokers: "broker.example:9093"
  tls: {enabled: true}
  sasl: {mechanism: oauthbearer, oauth: {tokenEndpoint: "${registry}/token", clientId: me, clientSecret: s3cret-of-kafka, ca: "${ca}"}}
service: {baseUrl: "https://review.example", apiKey: k${more}}
schemaRegistry: {urls: "${registry}", ca: "${ca}"}
pipelines: [{name: posts, source: {topic: events}}]
`;
  return parseConfig(text, {}, { file: 'f', directory: '.' });
}

/** Sets HTTPS_PROXY for one test. */
function throughProxy(t: TestContext, url: string): void {
  const before = process.env.HTTPS_PROXY;
  process.env.HTTPS_PROXY = url;
  t.after(() => {
    if (before === undefined) delete process.env.HTTPS_PROXY;
    else process.env.HTTPS_PROXY = before;
  });
}

async function answered(t: TestContext, config: Config): Promise<string> {
  const registry = schemaRegistry(config);
  assert.ok(registry !== undefined);
  t.after(() => registry.close());
  return (await registry.byId(1, signal))?.text ?? 'unknown';
}

async function refused(t: TestContext, config: Config): Promise<string> {
  const error = await answered(t, config).catch((thrown: unknown) => thrown);
  assert.ok(error instanceof RegistryUnavailable, String(error));
  assertSilent(error.message, 'the error', [CREDENTIALS]);
  return error.message;
}

/** Requests a token in the same way as a login does. */
async function token(config: Config): Promise<string> {
  const sasl = saslOptions(config);
  assert.ok(sasl?.mechanism === 'oauthbearer');
  return (await sasl.tokens.request(signal)).value;
}

test('registry and token endpoint are reached through the proxy in HTTPS_PROXY, with its credentials', async (t) => {
  const basic = `Basic ${Buffer.from(CREDENTIALS).toString('base64')}`;
  const proxy = await proxyServer(t, ({ authorization }) =>
    authorization === basic ? undefined : 407,
  );
  const seen: unknown[] = [];
  const { port } = await httpsServer(t, (request) => {
    seen.push(request.headers['proxy-authorization']);
    return request.url === '/token' ? TOKEN : SCHEMA;
  });
  const registry = `https://files.example.com:${port}`;
  const config = configOf({ registry });
  throughProxy(t, proxy.url.replace('://', `://${CREDENTIALS}@`));
  assert.equal(await answered(t, config), '"string"');
  assert.equal(await token(config), 'token-1');
  assert.deepEqual(
    proxy.seen.map(({ what }) => what),
    [`CONNECT files.example.com:${port}`, `CONNECT files.example.com:${port}`],
  );
  assert.deepEqual(seen, [undefined, undefined]);

  throughProxy(t, proxy.url);
  assert.match(
    await refused(t, config),
    /the proxy refused the request to the registry \(HTTP_407\)/,
  );
  await assert.rejects(token(config), /no token for Kafka .* the proxy refused the request/);
});

test('HTTPS_PROXY applies to all hosts except this machine and the hosts in NO_PROXY', async (t) => {
  const proxy = await proxyServer(t);
  const { port } = await httpsServer(t, () => SCHEMA);
  const options = { ca: [pem('ca.pem')], timeoutMs: 5_000, connections: 1 };
  const ask = async (host: string, env: Record<string, string>) => {
    const http = outboundHttp(options, env);
    try {
      const answer = await http.send(
        { method: 'GET', url: new URL(`https://${host}:${port}/`), headers: {} },
        signal,
      );
      await answer.text();
      return 'answered';
    } catch (error) {
      return String((error as { code?: unknown }).code);
    } finally {
      await http.close();
    }
  };
  assert.equal(await ask('files.example.com', { HTTPS_PROXY: proxy.url }), 'answered');
  assert.equal(proxy.seen.length, 1);
  assert.equal(await ask('127.0.0.1', { HTTPS_PROXY: proxy.url }), 'answered');
  assert.notEqual(
    await ask('files.invalid', { HTTPS_PROXY: proxy.url, NO_PROXY: 'files.invalid' }),
    'answered',
  );
  assert.equal(proxy.seen.length, 1, 'directly');
  assert.throws(() => outboundHttp(options, { HTTPS_PROXY: 'socks5://me:hunter22secret@p' }), {
    message:
      'the environment variable HTTPS_PROXY: the address of a proxy must begin with http:// or https://',
  });
});

test('schemaRegistry.ca is reread when it changes, and no other authority is trusted', async (t) => {
  const { port, server } = await httpsServer(t, () => SCHEMA);
  const ca = path.join(temporaryDirectory(), 'ca.pem');
  const other = certificateAuthority('Others');
  writeFileSync(ca, other.certificate);
  // Node.js and the service trust this authority, but schemaRegistry.ca does not contain it.
  const before = getCACertificates('default');
  setDefaultCACertificates([...before, readFileSync(pem('ca.pem'), 'utf8')]);
  t.after(() => setDefaultCACertificates(before));
  const config = configOf({
    registry: `https://127.0.0.1:${port}`,
    ca,
    more: `, tls: {ca: "${pem('ca.pem')}"}`,
  });
  const registry = schemaRegistry(config);
  assert.ok(registry !== undefined);
  t.after(() => registry.close());
  await assert.rejects(
    registry.byId(1, signal),
    /no TLS connection to the registry \((UNABLE_TO|SELF_SIGNED)/,
  );
  copyFileSync(pem('ca.pem'), ca);
  assert.equal((await registry.byId(1, signal))?.text, '"string"');
  server.closeAllConnections();
  writeFileSync(ca, `${other.certificate}\n`);
  await assert.rejects(async () => {
    // The first requests may fail because their connections were closed.
    for (let n = 0; n < 3; n++) await registry.byId(2 + n, signal);
  }, /no TLS connection to the registry/);
});

test('a missing CA file is named in the errors of registry and token endpoint', async (t) => {
  const ca = path.join(temporaryDirectory(), 'ca.pem');
  copyFileSync(pem('ca.pem'), ca);
  const config = configOf({ ca });
  rmSync(ca);
  assert.match(
    await refused(t, config),
    /cannot connect to the registry: the file .*ca\.pem: it cannot be read \(ENOENT\)/,
  );
  await assert.rejects(
    token(config),
    /the file .*ca\.pem: it cannot be read \(ENOENT\); check kafka\.sasl\.oauth\.ca/,
  );
});

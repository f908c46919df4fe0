/** Options of `service` that control which hosts the client may connect to. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { parseHostPattern } from '../../../packages/client/src/http/web-address.ts';
import { transferPolicy } from '../../../packages/client/src/service/transfer-policy.ts';
import { hostObjection, networkObjection } from '../../../src/config/hosts.ts';
import { ConfigError } from '../../../src/config/load/problem.ts';
import { parseConfig } from '../../../src/config/load.ts';
import type { ServiceConfig } from '../../../src/config/services.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const load = (service: string, env: Record<string, string> = {}, more = '') =>
  parseConfig(
    `kafka: {brokers: [b:1]}\nservice: {apiKey: key-1, ${service}}\npipelines: [{name: p, source: {topic: t}}]\n${more}`,
    env,
    { file: 'c.yaml', directory: '/nowhere' },
  ).service as ServiceConfig;

/** Returns the problems of a configuration, by path. */
function problems(service: string, env: Record<string, string> = {}): Record<string, string> {
  try {
    load(service, env);
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    return Object.fromEntries(error.problems.map(({ path: where, message }) => [where, message]));
  }
  return {};
}

const HTTPS = 'baseUrl: "https://review.example"';

describe('baseUrl', () => {
  it('with http is refused with the remedy, unless its host is this machine or allowed', () => {
    assert.deepEqual(problems('baseUrl: "http://review.corp:8080"'), {
      'service.baseUrl':
        'http sends the API key unencrypted: write https://, or allow the host with service.allowHttp: [review.corp]',
    });
    for (const right of [
      'baseUrl: "http://127.0.0.1:8090"',
      'baseUrl: "http://localhost:8090"',
      'baseUrl: "http://[::1]:8090"',
      'baseUrl: "http://review.corp:8080", allowHttp: [review.corp]',
      'baseUrl: "http://REVIEW.corp.:8080", allowHttp: ["*.corp:8080"]',
      'baseUrl: "http://10.0.0.1", allowHttp: 10.0.0.1',
      'baseUrl: "http://[fd00::1]", allowHttp: ["fd00::1"]',
    ]) {
      assert.deepEqual(problems(right), {}, right);
    }
    for (const wrong of [
      'baseUrl: "http://a.corp:81", allowHttp: ["a.corp:80"]',
      'baseUrl: "http://corp", allowHttp: ["*.corp"]',
    ]) {
      assert.deepEqual(Object.keys(problems(wrong)), ['service.baseUrl'], wrong);
    }
  });
});

describe('hosts and networks', () => {
  it('are refused if they are malformed', () => {
    const wrong = problems(
      `${HTTPS}, allowHttp: ["http://a"], transfer: {hosts: [a, "a.*"], allowPrivate: [10.0.0.0/33]}`,
    );
    assert.deepEqual(Object.keys(wrong), [
      'service.allowHttp',
      'service.transfer.hosts',
      'service.transfer.allowPrivate',
    ]);
    assert.match(wrong['service.allowHttp'] ?? '', /entry 1: a host name alone/);
    assert.match(
      wrong['service.transfer.hosts'] ?? '',
      /entry 2: a star is allowed only at the beginning/,
    );
  });

  it('are refused if they could never match or be used', () => {
    assert.match(hostObjection('.example.com') ?? '', /\*\.example\.com/);
    for (const zoned of ['fe80::1%eth0', '[fe80::1%eth0]:443'])
      assert.match(hostObjection(zoned) ?? '', /without a zone|not a host/);
    assert.match(networkObjection('.example.com') ?? '', /all hosts below/);
  });

  it('are accepted by the client if they pass the check', () => {
    const text = fc.oneof(
      fc.string({ maxLength: 20 }),
      fc.domain(),
      fc.domain().map((host) => `*.${host}`),
      fc.ipV4(),
      fc.ipV6(),
      fc.ipV6().map((address) => `[${address}]:443`),
      fc.tuple(fc.domain(), fc.nat(70_000)).map(([host, port]) => `${host}:${port}`),
      fc.tuple(fc.ipV4(), fc.nat(40)).map(([address, bits]) => `${address}/${bits}`),
      fc.stringMatching(/^[a-c.*:0-9[\]/]{1,12}$/),
    );
    fc.assert(
      fc.property(text, (entry) => {
        if (hostObjection(entry) === undefined)
          assert.equal(parseHostPattern(entry).ok, true, entry);
        if (networkObjection(entry) === undefined) {
          transferPolicy(
            { hosts: [], allowHttp: [], allowPrivate: [entry] },
            new URL('https://a.example'),
          );
        }
      }),
      { numRuns: 500 },
    );
  });
});

describe('extra headers', () => {
  it('are refused without showing their value if the request sets them itself', () => {
    for (const header of [
      'Authorization',
      'content-length',
      'Content-Type',
      'host',
      'transfer-encoding',
      'a b',
      'proxy-x',
    ]) {
      const wrong = problems(`${HTTPS}, transfer: {uploadHeaders: {"${header}": hunter22}}`);
      assert.deepEqual(Object.keys(wrong), ['service.transfer.uploadHeaders'], header);
      assert.doesNotMatch(JSON.stringify(wrong), /hunter22/);
    }
    const twice = problems(`${HTTPS}, transfer: {uploadHeaders: {x-a: a, X-A: b}}`);
    assert.match(twice['service.transfer.uploadHeaders'] ?? '', /X-A: duplicate name/);
    const missing = problems(`${HTTPS}, transfer: {uploadHeaders: {x-sas: {env: NONE}}}`);
    assert.match(
      missing['service.transfer.uploadHeaders'] ?? '',
      /x-sas: the environment variable NONE is not set/,
    );
  });

  it('get their values from strings, variables and files', async () => {
    const file = path.join(temporaryDirectory(), 'sas');
    writeFileSync(file, 'from-file\n');
    const service = load(
      `${HTTPS}, transfer: {uploadHeaders: {x-ms-blob-type: BlockBlob, x-number: 7, x-env: {env: SAS}, x-file: {file: ${JSON.stringify(file)}}}}`,
      { SAS: 'from-env' },
    );
    const { uploadHeaders } = service.transfer;
    const values = await Promise.all(
      Object.entries(uploadHeaders).map(async ([name, secret]) => [name, await secret.current()]),
    );
    assert.deepEqual(Object.fromEntries(values), {
      'x-ms-blob-type': 'BlockBlob',
      'x-number': '7',
      'x-env': 'from-env',
      'x-file': 'from-file',
    });
    assert.doesNotMatch(JSON.stringify(service), /from-env|from-file/);
  });
});

it('a client certificate without its key and a missing CA file are refused', () => {
  const pem = path.join(temporaryDirectory(), 'client.pem');
  writeFileSync(pem, '-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n');
  assert.deepEqual(problems(`${HTTPS}, tls: {certificate: ${JSON.stringify(pem)}}`), {
    'service.tls.key': 'required with service.tls.certificate',
  });
  assert.match(
    problems(`${HTTPS}, tls: {ca: [none.pem]}`)['service.tls.ca'] ?? '',
    /no such file or directory/,
  );
});

it('the path of an import must not contain dot segments, even if they are escaped', () => {
  for (const wrong of [
    '/v1/../{import_id}',
    '/v1/./{import_id}',
    '/v1/%2e%2E/{import_id}',
    '/..?id={import_id}',
  ]) {
    assert.match(
      problems(`${HTTPS}, importPath: "${wrong}"`)['service.importPath'] ?? '',
      /dot segments/,
      wrong,
    );
  }
  assert.deepEqual(problems(`${HTTPS}, importPath: "/v1/..import/{import_id}?a=../b"`), {});
});

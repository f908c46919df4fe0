/** `service`: where the client may go. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { clientSettings } from '../../../src/app/clients/service.ts';
import { hostObjection, networkObjection } from '../../../src/config/hosts.ts';
import { ConfigError } from '../../../src/config/load/problem.ts';
import { parseConfig } from '../../../src/config/load.ts';
import { proxyRules } from '../../../src/http/proxy.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const load = (service: string, env: Record<string, string> = {}, more = '') =>
  parseConfig(
    `kafka: {brokers: [b:1]}\nservice: {apiKey: key-1, ${service}}\npipelines: [{name: p, source: {topic: t}}]\n${more}`,
    env,
    { file: 'c.yaml', directory: '/nowhere' },
  ).service;

/** Returns the problems, by path. */
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
  it('by http is refused with the way to allow it, unless it is this machine or allowed by name', () => {
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
  it('are refused at check when they are none', () => {
    const wrong = problems(
      `${HTTPS}, allowHttp: ["http://a"], transfer: {hosts: [a, "a.*"], allowPrivate: [10.0.0.0/33]}, proxy: {url: "http://p", noProxy: ["a/b"]}`,
    );
    assert.deepEqual(Object.keys(wrong), [
      'service.allowHttp',
      'service.transfer.hosts',
      'service.transfer.allowPrivate',
      'service.proxy.noProxy',
    ]);
    assert.match(wrong['service.allowHttp'] ?? '', /entry 1: a host name alone/);
    assert.match(
      wrong['service.transfer.hosts'] ?? '',
      /entry 2: a star stands only at the beginning/,
    );
  });

  it('are refused when they could never match, or be used', () => {
    assert.match(hostObjection('.example.com') ?? '', /\*\.example\.com/);
    for (const zoned of ['fe80::1%eth0', '[fe80::1%eth0]:443'])
      assert.match(hostObjection(zoned) ?? '', /without a zone|not a host/);
    assert.match(networkObjection('.example.com') ?? '', /everything below/);
    assert.deepEqual(problems(`${HTTPS}, proxy: {url: "http://p", noProxy: [".example.com"]}`), {});
  });
});

describe('extra headers', () => {
  it('that follow from the request are refused at check, and no value is shown', () => {
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
    const twice = problems(`${HTTPS}, transfer: {downloadHeaders: {x-a: a, X-A: b}}`);
    assert.match(twice['service.transfer.downloadHeaders'] ?? '', /X-A: the name is there twice/);
    const missing = problems(`${HTTPS}, transfer: {uploadHeaders: {x-sas: {env: NONE}}}`);
    assert.match(
      missing['service.transfer.uploadHeaders'] ?? '',
      /x-sas: the environment variable NONE is not set/,
    );
  });

  it('have their values from texts, variables and files', async () => {
    const file = path.join(temporaryDirectory(), 'sas');
    writeFileSync(file, 'from-file\n');
    const service = load(
      `${HTTPS}, transfer: {uploadHeaders: {x-ms-blob-type: BlockBlob, x-number: 7, x-env: {env: SAS}, x-file: {file: ${JSON.stringify(file)}}}}`,
      { SAS: 'from-env' },
    );
    const { uploadHeaders } = clientSettings(service);
    const values = await Promise.all(
      Object.entries(uploadHeaders).map(async ([name, read]) => [
        name,
        typeof read === 'string' ? read : await read(),
      ]),
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

describe('the proxy', () => {
  it('is that of the environment, none, or an address with credentials of its own', async () => {
    const env = { HTTPS_PROXY: 'http://env.example:1' };
    const rules = (service: string) =>
      proxyRules(clientSettings(load(service, { P: 'me:hunter22' })).proxy, env);
    assert.equal(rules(HTTPS).https?.url.host, 'env.example:1');
    assert.equal(rules(`${HTTPS}, proxy: {url: none}`).https, undefined);
    const own = rules(
      `${HTTPS}, proxy: {url: "http://own.example:3128", credentials: {env: P}, noProxy: [.corp, 10.0.0.0/8, "*"]}`,
    );
    assert.equal(own.https?.url.host, 'own.example:3128');
    assert.equal(await own.https?.credentials?.(), 'me:hunter22');
  });

  it('is refused when it holds a user or is none, and options without effect are told', () => {
    for (const url of ['http://me:hunter22@p', 'socks5://p', 'p:3128', 'http://p/path']) {
      const wrong = problems(`${HTTPS}, proxy: {url: "${url}"}`);
      assert.deepEqual(Object.keys(wrong), ['service.proxy.url'], url);
    }
    assert.deepEqual(Object.keys(problems(`${HTTPS}, proxy: {credentials: a, noProxy: [b]}`)), [
      'service.proxy.credentials',
      'service.proxy.noProxy',
    ]);
  });
});

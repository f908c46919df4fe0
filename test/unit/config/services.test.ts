/** Options `services` and `pipelines[].service`. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { effectiveOptions, inlineSecrets, secretsIn } from '../../../src/config/effective.ts';
import { parseConfig } from '../../../src/config/load.ts';
import { chosenSection, servicesOf } from '../../../src/config/services.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { parse, problemsOf } from './problems-of.ts';

const ONE = 'service: {baseUrl: "https://one.example", apiKey: key-1}';
const SHADOW = 'shadow: {baseUrl: "https://shadow.example", apiKey: {env: SHADOW_KEY}';
const ENV = { SHADOW_KEY: 'key-2' };

/**
 * Returns a configuration with one pipeline for each given service. An empty string stands for a pipeline without a
 * service.
 */
function text(services: string, ...used: readonly string[]): string {
  const pipelines = used.map((service, index) => {
    const own = service === '' ? '' : `, service: ${service}`;
    return `{name: p${index}, source: {topic: t${index}}${own}}`;
  });
  return `kafka: {brokers: [b:1]}\n${services}\npipelines: [${pipelines.join(', ')}]\n`;
}

const BOTH = `${ONE}\nservices: {${SHADOW}, concurrency: {transfers: 2}}}`;

describe('services of a configuration', () => {
  it('belong to the pipelines that name them; a pipeline without a name has the group service', () => {
    const config = parse(text(BOTH, '', 'shadow', 'default'), ENV);
    assert.deepEqual([...servicesOf(config).keys()], ['default', 'shadow']);
    assert.deepEqual(
      config.pipelines.map(({ service }) => servicesOf(config).get(service)?.baseUrl),
      ['https://one.example', 'https://shadow.example', 'https://one.example'],
    );
    const { concurrency, timeoutMs } = servicesOf(config).get('shadow') ?? {};
    assert.deepEqual([concurrency, timeoutMs], [{ requests: 16, transfers: 2 }, 30_000]);
  });

  it('need no group service if each pipeline names one', () => {
    const config = parse(text(`services: {${SHADOW}}}`, 'shadow'), ENV);
    assert.deepEqual([...servicesOf(config).keys()], ['shadow']);
    assert.equal(config.service, undefined);
  });

  it('are shown with their paths, and their secrets are masked and found', () => {
    const config = parse(
      text(`services: {${SHADOW}}, b: {baseUrl: "https://b", apiKey: k}}`, 'shadow', 'b'),
      ENV,
    );
    const shown = new Map(effectiveOptions(config).map(({ path, value }) => [path, value]));
    assert.equal(shown.get('services.shadow.baseUrl'), 'https://shadow.example');
    assert.equal(shown.get('services.shadow.apiKey'), '[secret]');
    assert.equal(shown.get('services.shadow.timeout'), '30s');
    assert.equal(shown.get('pipelines[0].service'), 'shadow');
    assert.ok(![...shown.keys()].some((path) => path.startsWith('service.')));
    assert.deepEqual(
      secretsIn(config).map(([path, secret]) => [path, secret.reveal()]),
      [
        ['services.shadow.apiKey', 'key-2'],
        ['services.b.apiKey', 'k'],
      ],
    );
    assert.deepEqual(inlineSecrets(config), ['services.b.apiKey']);
  });

  it('have values from variables, which are not inline secrets', () => {
    const services = `services: {s: {baseUrl: "\${URL}", apiKey: "\${KEY}"}}`;
    const config = parse(text(services, 's'), { URL: 'https://s.example', KEY: 'key-3' });
    const service = servicesOf(config).get('s');
    assert.deepEqual([service?.baseUrl, service?.apiKey.reveal()], ['https://s.example', 'key-3']);
    assert.deepEqual(inlineSecrets(config), []);
  });

  it('do not need their keys for commands that send no requests', () => {
    const origin = { file: 'c.yaml', directory: '/nowhere' };
    const options = { withoutServiceKey: true };
    const config = parseConfig(text(BOTH, '', 'shadow'), {}, origin, options);
    assert.equal(config.pipelines.length, 2);
  });
});

describe('services that cannot be used', () => {
  const cases: readonly (readonly [
    what: string,
    services: string,
    used: readonly string[],
    problems: readonly string[],
  ])[] = [
    ['no service', '', [''], ['service: required: a mapping with baseUrl and apiKey']],
    [
      'a name that is missing',
      `services: {${SHADOW}}}`,
      ['shadow', 'other'],
      [
        'pipelines[1].service: there is no service other: add services.other, or choose one of shadow',
      ],
    ],
    [
      'a name without any services',
      '',
      ['other'],
      ['pipelines[0].service: there is no service other: add services.other'],
    ],
    [
      'a misspelt name, without the service that seems unused',
      BOTH,
      ['', 'shadwo'],
      [
        'pipelines[1].service: there is no service shadwo: add services.shadwo, or choose one of default, shadow',
      ],
    ],
    [
      'a pipeline without a name, and no group service',
      `services: {${SHADOW}}}`,
      ['shadow', ''],
      ['pipelines[1].service: there is no service default: add service, or choose one of shadow'],
    ],
    [
      'an entry that no pipeline uses',
      BOTH,
      [''],
      [
        'services.shadow: no pipeline uses this service: remove it, or set pipelines[].service to shadow',
      ],
    ],
    [
      'a group service that no pipeline uses',
      BOTH,
      ['shadow'],
      ['service: no pipeline uses this service: remove it, or set pipelines[].service to default'],
    ],
    [
      'options of an entry',
      `${ONE}\nservices: {s: {baseUrl: "http://s.corp", apiKey: k, timeout: 5, tls: {certificate: none.pem}}}`,
      ['', 's'],
      [
        'services.s.baseUrl: http sends the API key unencrypted: write https://, or allow the host with services.s.allowHttp: [s.corp]',
        'services.s.timeout: 5 is not allowed; expected a duration from 10ms to 1h, such as 30s (units ms, s, m, h, d) (the unit is missing: write 5ms, 5s, 5m)',
        'services.s.tls.certificate: "none.pem" is not allowed; expected the path of a PEM file (the file /nowhere/none.pem: no such file or directory)',
      ],
    ],
    [
      'an entry without options',
      `${ONE}\nservices: {s: }`,
      ['', 's'],
      [
        'services.s.apiKey: required: {env: NAME} or {file: PATH}; an inline value also works, but do not keep secrets in configuration files',
        'services.s.baseUrl: required: an https:// or http:// address without query, fragment or user',
      ],
    ],
    [
      'a name that refers to the option service',
      `services: {default: {baseUrl: "https://a", apiKey: k}}`,
      [''],
      ['services.default: this name refers to the option service: choose another name'],
    ],
    [
      'an invalid name',
      `${ONE}\nservices: {A.b: {baseUrl: "https://a", apiKey: k}}`,
      ['', 'a-b'],
      [
        'services["A.b"]: a name has 1 to 63 characters from [a-z0-9-], beginning with a letter or digit',
        'pipelines[1].service: there is no service a-b: add services.a-b, or choose one of default, A.b',
      ],
    ],
    [
      'a list in place of a mapping',
      `${ONE}\nservices: [{baseUrl: "https://a", apiKey: k}]`,
      [''],
      ['services: a list of 1 is not allowed; expected a mapping of options'],
    ],
  ];
  for (const [what, services, used, problems] of cases)
    it(`are refused: ${what}`, () => {
      assert.deepEqual(problemsOf(text(services, ...used), ENV), problems);
    });

  it('need a key for each certificate', () => {
    const file = path.join(temporaryDirectory(), 'client.pem');
    writeFileSync(file, '-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n');
    const services = `${ONE}\nservices: {s: {baseUrl: "https://s", apiKey: k, tls: {certificate: ${JSON.stringify(file)}}}}`;
    assert.deepEqual(problemsOf(text(services, '', 's')), [
      'services.s.tls.key: required with tls.certificate',
    ]);
  });
});

describe('the service of a command', () => {
  const one = { baseUrl: 'https://one' };
  const named = { a: { baseUrl: 'https://a' }, b: { baseUrl: 'https://b' } };
  const choose = (document: object, name?: string) => chosenSection(document, name);

  it('is the chosen one, without the others', () => {
    assert.deepEqual(choose({ service: one, services: named }, 'b'), {
      ok: true,
      value: { services: { b: named.b } },
    });
    assert.deepEqual(choose({ service: one, services: named }, 'default'), {
      ok: true,
      value: { service: one },
    });
  });

  it('is by default the group service, or else the only entry', () => {
    const value = { service: one };
    assert.deepEqual(choose({ service: one, services: named }), { ok: true, value });
    assert.deepEqual(choose({ services: { a: named.a } }), {
      ok: true,
      value: { services: { a: named.a } },
    });
  });

  it('must be chosen among several without a group service, and must exist', () => {
    assert.deepEqual(choose({ services: named }), {
      ok: false,
      error: 'has no service default: choose one with --service (a, b)',
    });
    assert.deepEqual(choose({ service: one, services: named }, 'c'), {
      ok: false,
      error: 'has no service c: choose one with --service (default, a, b)',
    });
    assert.deepEqual(choose({}), { ok: true, value: { service: {} } });
  });
});

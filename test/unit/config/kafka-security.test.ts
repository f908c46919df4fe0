import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { effectiveOptions } from '../../../src/config/effective.ts';
import { parse, problemsOf } from './problems-of.ts';

const directory = mkdtempSync(join(tmpdir(), 'kafka-security-'));
after(() => rmSync(directory, { recursive: true }));
const certificate = file(
  'certificate.pem',
  '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n',
);
const key = file(
  'key.pem',
  '-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIIB\n-----END ENCRYPTED PRIVATE KEY-----\n',
);
const token = file('token', 'header.claims.signature\n');

function file(name: string, text: string): string {
  const path = join(directory, name);
  writeFileSync(path, text);
  return path;
}

const withKafka = (kafka: string, brokers = 'broker:9093'): string => `
kafka: {brokers: ["${brokers}"], ${kafka}}
service: {baseUrl: "https://review.example", apiKey: key-1}
pipelines: [{name: posts, source: {topic: events}}]
`;
const LOGIN = 'username: alice, password: secret-1';
const OAUTH =
  'oauth: {tokenEndpoint: "https://login.example/token", clientId: c, clientSecret: secret-1';

describe('kafka.tls and kafka.sasl', () => {
  it('resolve files relative to the configuration, and show no secret', () => {
    const text = withKafka(
      `tls: {enabled: true, ca: "${certificate}, ${certificate}", certificate: "${certificate}", key: "${key}"}, ` +
        `sasl: {mechanism: scram-sha-512, ${LOGIN}}`,
    );
    const config = parse(text);
    assert.deepEqual(config.kafka.tls.ca, [certificate, certificate]);
    const shown = JSON.stringify(effectiveOptions(config));
    assert.match(shown, /"kafka\.sasl\.password","value":"\[secret\]"/);
    assert.match(shown, /"kafka\.sasl\.oauth\.clientSecret","value":""/);
    assert.doesNotMatch(shown, /secret-1/);
  });

  const right: readonly (readonly [string, string, string?])[] = [
    ['plain over TLS', `tls: {enabled: true}, sasl: {mechanism: plain, ${LOGIN}}`],
    ['plain on this machine', `sasl: {mechanism: plain, ${LOGIN}}`, '127.0.0.1:9092'],
    [
      'plain without TLS if insecureWithoutTls is set',
      `sasl: {mechanism: plain, insecureWithoutTls: true, ${LOGIN}}`,
    ],
    ['scram without TLS, which sends no password', `sasl: {mechanism: scram-sha-256, ${LOGIN}}`],
    [
      'tokens with extensions and parameters',
      `tls: {enabled: true}, sasl: {mechanism: oauthbearer, ${OAUTH}, extensions: {logicalCluster: lkc-1}, parameters: {resource: kafka}}}`,
    ],
    [
      'a token from a file, without a token endpoint',
      `tls: {enabled: true}, sasl: {mechanism: oauthbearer, oauth: {token: {file: "${token}"}}}`,
    ],
    [
      'a private key for client assertions',
      `tls: {enabled: true}, sasl: {mechanism: oauthbearer, oauth: {tokenEndpoint: "https://login.example/token", clientId: c, clientAssertion: {file: "${key}"}}}`,
    ],
    ['the identity of AWS', 'tls: {enabled: true}, sasl: {mechanism: aws-msk-iam}'],
    [
      'a token endpoint on this machine without TLS',
      `tls: {enabled: true}, sasl: {mechanism: oauthbearer, oauth: {tokenEndpoint: "http://localhost:1/t", clientId: c, clientSecret: s}}`,
    ],
  ];
  for (const [what, kafka, brokers] of right)
    it(`accept ${what}`, () => assert.equal(parse(withKafka(kafka, brokers)).pipelines.length, 1));

  const wrong: readonly (readonly [string, string, readonly RegExp[]])[] = [
    [
      'options of TLS while it is off',
      `tls: {serverName: broker}`,
      [/^kafka\.tls\.serverName: has no effect while kafka\.tls\.enabled is false/],
    ],
    [
      'a certificate without its key',
      `tls: {enabled: true, certificate: "${certificate}"}`,
      [/^kafka\.tls\.key: required with kafka\.tls\.certificate/],
    ],
    [
      'a missing file',
      `tls: {enabled: true, ca: [missing.pem]}`,
      [/^kafka\.tls\.ca: .*entry 1: the file \/nowhere\/missing\.pem: no such file or directory/],
    ],
    [
      'a file without a certificate',
      `tls: {enabled: true, ca: ["${key}"]}`,
      [/^kafka\.tls\.ca: .*has no PEM part "CERTIFICATE"/],
    ],
    [
      'a key instead of the path of its file',
      `tls: {enabled: true, certificate: "${certificate}", key: "-----BEGIN PRIVATE KEY-----"}`,
      [/^kafka\.tls\.key: .*write the path of the file/],
    ],
    [
      'an unknown mechanism',
      `sasl: {mechanism: gssapi}`,
      [/^kafka\.sasl\.mechanism: "gssapi" is not allowed/],
    ],
    [
      'scram without username and password',
      `sasl: {mechanism: scram-sha-256}`,
      [
        /^kafka\.sasl\.password: required with kafka\.sasl\.mechanism scram-sha-256/,
        /^kafka\.sasl\.username: required/,
      ],
    ],
    [
      'tokens without an endpoint and credentials',
      `tls: {enabled: true}, sasl: {mechanism: oauthbearer}`,
      [/oauth\.clientSecret: .* oauthbearer requires clientSecret, clientAssertion or token$/],
    ],
    [
      'a client assertion without an endpoint',
      `tls: {enabled: true}, sasl: {mechanism: oauthbearer, oauth: {clientAssertion: {file: "${key}"}}}`,
      [
        /oauth\.clientId: required with kafka\.sasl\.oauth\.clientAssertion/,
        /oauth\.tokenEndpoint: required with kafka\.sasl\.oauth\.clientAssertion/,
      ],
    ],
    [
      'several origins of tokens',
      `tls: {enabled: true}, sasl: {mechanism: oauthbearer, ${OAUTH}, clientAssertion: a, token: b}}`,
      [
        /oauth\.clientAssertion: cannot be combined with kafka\.sasl\.oauth\.clientSecret: remove/,
        /oauth\.token: cannot be combined with kafka\.sasl\.oauth\.clientSecret: remove/,
      ],
    ],
    [
      'options of a token endpoint with a token from a file',
      `tls: {enabled: true}, sasl: {mechanism: oauthbearer, oauth: {token: {file: "${token}"}, clientId: c, parameters: {scope: x}}}`,
      [
        /oauth\.clientId: has no effect with kafka\.sasl\.oauth\.token/,
        /oauth\.parameters: has no effect with kafka\.sasl\.oauth\.token/,
      ],
    ],
    [
      'a token file with several lines',
      `tls: {enabled: true}, sasl: {mechanism: oauthbearer, oauth: {token: {file: "${key}"}}}`,
      [/oauth\.token: .*a line break/],
    ],
    [
      'a password with aws-msk-iam, and a token that would be sent without TLS',
      `sasl: {mechanism: aws-msk-iam, password: x}`,
      [
        /^kafka\.sasl\.mechanism: aws-msk-iam sends the token to broker:9093 unencrypted/,
        /^kafka\.sasl\.password: has no effect while kafka\.sasl\.mechanism is aws-msk-iam/,
      ],
    ],
    [
      'options of oauth with scram',
      `sasl: {mechanism: scram-sha-256, ${LOGIN}, oauth: {parameters: {scope: kafka}}}`,
      [
        /^kafka\.sasl\.oauth\.parameters: has no effect while kafka\.sasl\.mechanism is scram-sha-256/,
      ],
    ],
    [
      'a password that would be sent without TLS',
      `sasl: {mechanism: plain, ${LOGIN}}`,
      [
        /^kafka\.sasl\.mechanism: plain sends the password to broker:9093 .*set kafka\.tls\.enabled to true/,
      ],
    ],
    [
      'a token that would be sent without TLS',
      `sasl: {mechanism: oauthbearer, ${OAUTH}}}`,
      [/^kafka\.sasl\.mechanism: oauthbearer sends the token to broker:9093/],
    ],
    [
      'a token endpoint on another machine without TLS',
      `tls: {enabled: true}, sasl: {mechanism: oauthbearer, oauth: {tokenEndpoint: "http://login.example/t", clientId: c, clientSecret: s}}`,
      [/oauth\.tokenEndpoint: .*http would expose the token/],
    ],
    [
      'a parameter that has its own option',
      `tls: {enabled: true}, sasl: {mechanism: oauthbearer, ${OAUTH}, parameters: {client_assertion: x}}}`,
      [/oauth\.parameters: .*client_assertion: it has its own option/],
    ],
    [
      'an extension that would become the token',
      `tls: {enabled: true}, sasl: {mechanism: oauthbearer, ${OAUTH}, extensions: {auth: x}}}`,
      [/oauth\.extensions: .*auth: a name must consist of letters, and auth is reserved/],
    ],
  ];
  for (const [what, kafka, expected] of wrong)
    it(`refuse ${what}`, () => {
      const problems = problemsOf(withKafka(kafka));
      assert.equal(problems.length, expected.length, problems.join('\n'));
      for (const [index, pattern] of expected.entries())
        assert.match(problems[index] ?? '', pattern);
    });

  it('report a missing variable once', () => {
    const text = withKafka(
      `sasl: {mechanism: scram-sha-256, username: alice, password: "\${NOT_SET}"}`,
    );
    assert.deepEqual(
      problemsOf(text).map((problem) => problem.slice(0, 62)),
      ['kafka.sasl.password: the environment variable NOT_SET is not s'],
    );
  });
});

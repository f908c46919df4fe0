import assert from 'node:assert/strict';
import { createHash, createHmac } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { afterEach, beforeEach, describe, it, type TestContext } from 'node:test';
import { saslOptions } from '../../../../src/app/kafka-connection.ts';
import { mskTokens } from '../../../../src/kafka/security/msk-tokens.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { parse } from '../../config/problems-of.ts';

const KEYS = { AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE', AWS_SECRET_ACCESS_KEY: 'secret-key-1' };
const SESSION = { id: 'ASIAEXAMPLE', secret: 'secret-key-2', token: 'session-token/1==' };
const BROKERS = ['b-1.demo.abc.c2.kafka.eu-west-1.amazonaws.com:9098'];
const never = new AbortController().signal;

const before = { ...process.env };
const clean = () => {
  for (const name of Object.keys(process.env))
    if (name.startsWith('AWS_')) delete process.env[name];
};
beforeEach(() => {
  clean();
  process.env.AWS_EC2_METADATA_DISABLED = 'true';
  process.env.AWS_CONFIG_FILE = process.env.AWS_SHARED_CREDENTIALS_FILE = '/nowhere';
});
afterEach(() => {
  clean();
  Object.assign(process.env, before);
});

/** Requests a token like a connector with this environment. */
function request(environment: NodeJS.ProcessEnv = {}, brokers = BROKERS) {
  Object.assign(process.env, environment);
  const config = parse(`
kafka: {brokers: ["${brokers}"], tls: {enabled: true}, sasl: {mechanism: aws-msk-iam}}
service: {baseUrl: "https://review.example", apiKey: key-1}
pipelines: [{name: posts, source: {topic: events}}]
`);
  const sasl = saslOptions(config);
  assert.ok(sasl?.mechanism === 'oauthbearer');
  return sasl.tokens.request(never);
}

const hmac = (key: string | Buffer, text: string) =>
  createHmac('sha256', key).update(text).digest();
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

/** Checks the signature (SigV4) of a token as MSK does. @returns the parameters of its address */
function verified(token: string, secret: string, region = 'eu-west-1'): URLSearchParams {
  assert.match(token, /^[\w-]+$/);
  const { protocol, host, pathname, searchParams } = new URL(
    String(Buffer.from(token, 'base64url')),
  );
  assert.equal(`${protocol}//${host}${pathname}`, `https://kafka.${region}.amazonaws.com/`);
  const signed = [...searchParams]
    .filter(([name]) => name !== 'X-Amz-Signature' && name !== 'User-Agent')
    .map((pair) => pair.map(encodeURIComponent).join('='))
    .sort();
  const canonical = ['GET', '/', signed.join('&'), `host:${host}`, '', 'host', sha256('')];
  const at = searchParams.get('X-Amz-Date') ?? '';
  const scope = [at.slice(0, 8), region, 'kafka-cluster', 'aws4_request'];
  const text = ['AWS4-HMAC-SHA256', at, scope.join('/'), sha256(canonical.join('\n'))];
  const key = scope.reduce<string | Buffer>(
    (secretKey, part) => hmac(secretKey, part),
    `AWS4${secret}`,
  );
  assert.equal(searchParams.get('X-Amz-Signature'), hmac(key, text.join('\n')).toString('hex'));
  assert.equal(searchParams.get('Action'), 'kafka-cluster:Connect');
  return searchParams;
}

async function standIn(t: TestContext, answer: RequestListener): Promise<string> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  t.after(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function tokenFile(): string {
  const file = path.join(temporaryDirectory(), 'token');
  writeFileSync(file, 'projected-token');
  return file;
}

const EXPIRES = new Date(Date.now() + 600_000).toISOString();

/** Answers AssumeRoleWithWebIdentity. */
function sts(forms: URLSearchParams[], status = 200): RequestListener {
  return async (message, response) => {
    let body = '';
    for await (const part of message) body += String(part);
    const form = new URLSearchParams(body);
    forms.push(form);
    const isRight = status === 200 && form.get('WebIdentityToken') === 'projected-token';
    const credentials = `<AccessKeyId>${SESSION.id}</AccessKeyId><SecretAccessKey>${SESSION.secret}</SecretAccessKey><SessionToken>${SESSION.token}</SessionToken><Expiration>${EXPIRES}</Expiration>`;
    response
      .writeHead(isRight ? 200 : 403, { 'content-type': 'text/xml' })
      .end(
        isRight
          ? `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult><Credentials>${credentials}</Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`
          : '<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>projected-token</Message></Error></ErrorResponse>',
      );
  };
}

describe('a token for MSK', () => {
  it('is signed with the keys of the environment, for the region in the names of the brokers', async () => {
    const { value, lifetimeMs } = await request({ ...KEYS, AWS_REGION: 'us-east-1' });
    const parameters = verified(value, KEYS.AWS_SECRET_ACCESS_KEY);
    assert.match(parameters.get('X-Amz-Credential') ?? '', /^AKIDEXAMPLE\//);
    assert.ok(lifetimeMs > 880_000 && lifetimeMs <= 900_000, String(lifetimeMs));
    const serverless = ['boot-1.c1.kafka-serverless.ap-south-1.amazonaws.com:9098'];
    verified((await request(KEYS, serverless)).value, KEYS.AWS_SECRET_ACCESS_KEY, 'ap-south-1');
    const alias = await request({ AWS_REGION: '', AWS_DEFAULT_REGION: 'eu-north-1' }, ['msk:1']);
    verified(alias.value, KEYS.AWS_SECRET_ACCESS_KEY, 'eu-north-1');
  });

  it('is signed with the keys of a role that the projected token permits, under one session name', async (t) => {
    const forms: URLSearchParams[] = [];
    const role = {
      AWS_ENDPOINT_URL_STS: await standIn(t, sts(forms)),
      AWS_ROLE_ARN: 'arn:aws:iam::123456789012:role/connector',
      AWS_WEB_IDENTITY_TOKEN_FILE: tokenFile(),
    };
    const { value, lifetimeMs } = await request(role);
    const parameters = verified(value, SESSION.secret);
    assert.equal(parameters.get('X-Amz-Security-Token'), SESSION.token);
    // The token ends with its credentials.
    assert.ok(lifetimeMs <= 600_000, String(lifetimeMs));
    await request(role);
    assert.deepEqual(
      forms.map((form) => form.get('RoleArn')),
      [role.AWS_ROLE_ARN, role.AWS_ROLE_ARN],
    );
    // Brokers reject the renewal of a session under a different name.
    assert.equal(new Set(forms.map((form) => form.get('RoleSessionName'))).size, 1);
  });

  it('is signed with the keys of the pod identity agent', async (t) => {
    const url = await standIn(t, ({ headers }, response) => {
      const credentials = {
        AccessKeyId: SESSION.id,
        SecretAccessKey: SESSION.secret,
        Token: SESSION.token,
        Expiration: EXPIRES,
      };
      const isRight = headers.authorization === 'projected-token';
      response.writeHead(isRight ? 200 : 401).end(JSON.stringify(isRight ? credentials : {}));
    });
    const { value } = await request({
      AWS_CONTAINER_CREDENTIALS_FULL_URI: `${url}/v1/credentials`,
      AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: tokenFile(),
    });
    assert.equal(verified(value, SESSION.secret).get('X-Amz-Security-Token'), SESSION.token);
  });

  it('is refused with the cause if there are no credentials, no permission or no region', async (t) => {
    const failure = async (environment: NodeJS.ProcessEnv, brokers?: string[]) => {
      const { message, retriable } = await request(environment, brokers).catch((error) => error);
      assert.doesNotMatch(message, /projected-token|secret-key/);
      return `${message}${retriable ? ' (again)' : ''}`;
    };
    assert.match(await failure({}, ['msk:1']), /names in kafka\.brokers: set AWS_REGION$/);
    assert.match(await failure({}), /no AWS credentials .*\(CredentialsProviderError\): check/);
    const role = {
      AWS_ENDPOINT_URL_STS: await standIn(t, sts([], 403)),
      AWS_ROLE_ARN: 'arn:aws:iam::123456789012:role/connector',
      AWS_WEB_IDENTITY_TOKEN_FILE: tokenFile(),
    };
    assert.match(await failure(role), /\(AccessDenied\): .*the trust policy of the role$/);
  });

  it('is refused with the command that installs the package if it is missing', async () => {
    const load = () => Promise.reject(new Error('Cannot find package'));
    await assert.rejects(
      mskTokens({ load, brokers: BROKERS, environment: {}, timeoutMs: 1 }).request(never),
      /run npm install aws-msk-iam-sasl-signer-js/,
    );
  });
});

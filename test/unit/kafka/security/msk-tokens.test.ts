import assert from 'node:assert/strict';
import { createHash, createHmac } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, it, type TestContext } from 'node:test';
import { saslOptions } from '../../../../src/app/kafka-connection.ts';
import { mskTokens } from '../../../../src/kafka/security/msk-tokens.ts';
import { type TokenServer, tokenServer } from '../../../integration/kafka/token-server.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { parse } from '../../config/problems-of.ts';

const KEYS = { AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE', AWS_SECRET_ACCESS_KEY: 'secret-key-1' };
const SESSION = { id: 'ASIAEXAMPLE', secret: 'secret-key-2', token: 'session-token/1==' };
const BROKERS = ['b-1.demo.abc.c2.kafka.eu-west-1.amazonaws.com:9098'];
const never = new AbortController().signal;

/** Variables that prevent the library of AWS from using credentials of this machine. */
const ALONE = {
  AWS_EC2_METADATA_DISABLED: 'true',
  AWS_CONFIG_FILE: '/nowhere',
  AWS_SHARED_CREDENTIALS_FILE: '/nowhere',
};
beforeEach(() => {
  for (const name of Object.keys(process.env))
    if (name.startsWith('AWS_')) delete process.env[name];
});

/** Requests a token like a connector with this environment. */
function request(environment: NodeJS.ProcessEnv = {}, brokers = BROKERS) {
  Object.assign(process.env, ALONE, environment);
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

/** Starts a stand-in for AWS that returns `body` to a request with the projected token, and closes after the test. */
async function standIn(t: TestContext, body: string): Promise<TokenServer> {
  const server = await tokenServer(() => {
    const { form, login } = server.requests.at(-1) ?? assert.fail();
    const sent = form.get('WebIdentityToken') ?? Buffer.from(login).toString('base64');
    return sent === PROJECTED ? { status: 200, body } : { status: 403, body: DENIED };
  });
  t.after(() => server.close());
  return server;
}

function tokenFile(token: string): string {
  const file = path.join(temporaryDirectory(), 'token');
  writeFileSync(file, token);
  return file;
}

/** Token of the pod in base64, the form in which the stand-in compares it. */
const PROJECTED = Buffer.from('projected-token').toString('base64');
const EXPIRES = new Date(Date.now() + 600_000).toISOString();
const ROLE = `<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>${SESSION.id}</AccessKeyId><SecretAccessKey>${SESSION.secret}</SecretAccessKey><SessionToken>${SESSION.token}</SessionToken><Expiration>${EXPIRES}</Expiration></Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`;
const DENIED = `<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>${PROJECTED}</Message></Error></ErrorResponse>`;
const roleOf = (url: string, token: string) => ({
  AWS_ENDPOINT_URL_STS: url,
  AWS_ROLE_ARN: 'arn:aws:iam::123456789012:role/connector',
  AWS_WEB_IDENTITY_TOKEN_FILE: tokenFile(token),
});

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
    const { url, requests } = await standIn(t, ROLE);
    const environment = roleOf(url, PROJECTED);
    const { value, lifetimeMs } = await request(environment);
    assert.equal(verified(value, SESSION.secret).get('X-Amz-Security-Token'), SESSION.token);
    assert.ok(lifetimeMs <= 600_000, 'the token ends with its credentials');
    await request(environment);
    const [first, second] = requests.map(({ form }) => form);
    assert.equal(first?.get('RoleArn'), environment.AWS_ROLE_ARN);
    // Brokers reject the renewal of a session under a different name.
    assert.equal(first?.get('RoleSessionName'), second?.get('RoleSessionName'));
  });

  it('is signed with the keys of the pod identity agent', async (t) => {
    const { id: AccessKeyId, secret: SecretAccessKey, token: Token } = SESSION;
    const keys = { AccessKeyId, SecretAccessKey, Token, Expiration: EXPIRES };
    const { value } = await request({
      AWS_CONTAINER_CREDENTIALS_FULL_URI: (await standIn(t, JSON.stringify(keys))).url,
      AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: tokenFile(PROJECTED),
    });
    assert.equal(verified(value, SESSION.secret).get('X-Amz-Security-Token'), SESSION.token);
  });

  it('is refused with the cause if there are no credentials, no permission or no region', async (t) => {
    const failure = async (environment: NodeJS.ProcessEnv, brokers?: string[]) => {
      const { message, retriable } = await request(environment, brokers).catch((error) => error);
      assert.doesNotMatch(message, /cHJvamVj|wrong/);
      return `${message}${retriable ? ' (again)' : ''}`;
    };
    assert.match(await failure({}, ['msk:1']), /names in kafka\.brokers: set AWS_REGION$/);
    assert.match(await failure({}), /no AWS credentials .*\(CredentialsProviderError\): check/);
    const { url } = await standIn(t, ROLE);
    assert.match(
      await failure(roleOf(url, 'wrong')),
      /\(AccessDenied\): .*the trust policy of the role$/,
    );
  });

  it('is refused with the command that installs the package if it is missing', async () => {
    const load = () => Promise.reject(new Error('Cannot find package'));
    await assert.rejects(
      mskTokens({ load, brokers: BROKERS, timeoutMs: 1 }).request(never),
      /run npm install aws-msk-iam-sasl-signer-js/,
    );
  });
});

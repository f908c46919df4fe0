import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { after, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Secret } from '../../../src/config/secret.ts';
import {
  connectKafka,
  endpointTokens,
  fileTokens,
  type KafkaConnection,
  requestFailure,
  type SaslOptions,
  Security,
  type TlsOptions,
} from '../../../src/kafka/index.ts';
import { certificateAuthority } from '../../support/certificates.ts';
import { directHttp } from '../../support/direct-http.ts';
import { RecordingLogger } from '../../support/memory/telemetry/recording-telemetry.ts';
import { allOf, assertSilent } from '../../support/stack/canary.ts';
import { PASSWORD, SESSION_MS, type SecuredKafka } from './secured-kafka.ts';
import { tokenAnswer, tokenServer, unsignedToken } from './token-server.ts';

/** Secrets that must not appear in logs, including the first part of a token. */
const SECRETS = [PASSWORD, 'client-secret-1', unsignedToken('nobody', 0).split('.')[0] as string];

/** Fractions of a session around 85 %, at which the connector logs in again. */
const [EARLY_IN_SESSION, LATE_IN_SESSION] = [0.8, 0.9];

type PasswordMechanism = 'plain' | 'scram-sha-256' | 'scram-sha-512';

export function securityLoginSuite(secured: SecuredKafka): void {
  const { ca, caFile, sasl: port, mtls, file } = secured;
  const logger = new RecordingLogger();
  const open: { close(): Promise<void> }[] = [];
  after(async () => {
    await Promise.all(open.map((connection) => connection.close()));
    assertSilent(JSON.stringify(logger.lines), 'the log', SECRETS);
  });

  const TLS: TlsOptions = { ca: [caFile] };
  const login = (
    mechanism: PasswordMechanism,
    password: () => Promise<string> = async () => PASSWORD,
  ): SaslOptions => ({
    mechanism,
    username: 'nobody',
    password,
  });
  function connect(broker: string, tls?: TlsOptions, sasl?: SaslOptions): KafkaConnection {
    const security = new Security({ tls, sasl }, logger, () => undefined);
    const connection = connectKafka(
      { brokers: [broker], clientId: 'login-test', security, connectionTimeoutMs: 3_000 },
      logger,
    );
    open.push(connection);
    return connection;
  }
  const brokers = (connection: KafkaConnection): Promise<number> => connection.admin.brokerCount();
  async function refused(connection: KafkaConnection, message: RegExp): Promise<void> {
    const error = await brokers(connection).then(
      () => assert.fail(`connected instead of failing with ${message}`),
      (reason: Error) => reason,
    );
    assert.match(error.message, message);
    assertSilent(allOf(error), 'an error', SECRETS);
    await connection.close();
  }

  describe('a protected connection', { concurrency: true }, () => {
    for (const mechanism of ['plain', 'scram-sha-256', 'scram-sha-512'] as const)
      it(`logs in with ${mechanism}`, async () =>
        assert.equal(await brokers(connect(port, TLS, login(mechanism))), 1));

    it('reports a wrong password with the user name', async () => {
      for (const mechanism of ['plain', 'scram-sha-512'] as const) {
        const connection = connect(
          port,
          TLS,
          login(mechanism, async () => 'wrong'),
        );
        await refused(
          connection,
          new RegExp(
            `rejects the login of nobody with ${mechanism}: check kafka.sasl.username, kafka.sasl.password, and`,
          ),
        );
      }
    });

    it('reports an untrusted authority', async () => {
      const tls = {
        ...TLS,
        ca: [file('other-ca.pem', certificateAuthority('Other CA').certificate)],
      };
      await refused(
        connect(port, tls, login('plain')),
        /TLS with 127\.0\.0\.1:\d+ failed \(.*\): .*add that authority to kafka\.tls\.ca/,
      );
    });

    it('reports a token that the brokers reject, and requests another token', async () => {
      let expired = true;
      const server = await tokenServer(() =>
        tokenAnswer(unsignedToken('nobody', expired ? -3_600_000 : 60_000), 3_600),
      );
      open.push(server);
      const connection = connect(port, TLS, oauth(server.url));
      const error = await brokers(connection).catch((reason: Error) => reason);
      assert.ok(error instanceof Error);
      assertSilent(allOf(error), 'an error', SECRETS);
      assert.match(
        error.message,
        /does not accept the token \(invalid_token\): check parameters and extensions in kafka\.sasl\.oauth/,
      );
      assert.equal(requestFailure(error), 'refused');
      expired = false;
      assert.equal(await brokers(connection), 1);
    });

    it('uses the current password of its file for new connections', async () => {
      const path = file('password', PASSWORD);
      const secret = Secret.file(path);
      const connection = connect(
        port,
        TLS,
        login('scram-sha-256', () => secret.current()),
      );
      assert.equal(await brokers(connection), 1);
      writeFileSync(path, 'not the one any more');
      assert.equal(await brokers(connection), 1, 'an open connection stays');
      const scan = connection.scan();
      const read = () =>
        connection
          .sourceReader({ topic: 'none' })
          .read({ partition: 0, from: 0, to: 0 }, () => undefined, new AbortController().signal);
      await assert.rejects(read(), /rejects the login of nobody/);
      writeFileSync(path, PASSWORD);
      // The login succeeds, and the missing right fails the read.
      await assert.rejects(read(), /TOPIC_AUTHORIZATION_FAILED/);
      await scan.close();
      await connection.close();
    });

    it('uses the current certificate of its files, or the last valid one while they do not match', async () => {
      const first = ca.issue({ name: 'first' });
      const second = ca.issue({ name: 'second', until: new Date(Date.now() + 5 * 86_400_000) });
      const certificate = file('rotated.pem', first.certificate);
      const key = file('rotated.key', first.key);
      const expiries: number[] = [];
      const lines = new RecordingLogger();
      const security = new Security({ tls: { ...TLS, certificate, key } }, lines, (owner, atMs) => {
        if (owner === 'client') expiries.push(atMs);
      });
      const connection = connectKafka({ brokers: [mtls], clientId: 'rotation', security }, lines);
      assert.equal(await brokers(connection), 1);
      assert.equal(security.principal, 'User:CN=first');
      writeFileSync(certificate, second.certificate);
      const reader = connectKafka({ brokers: [mtls], clientId: 'rotation', security }, lines);
      assert.equal(await brokers(reader), 1, 'a certificate without its key is not used yet');
      assert.equal(security.principal, 'User:CN=first');
      assert.equal(
        lines.lines.filter(({ message }) => message.includes('the earlier ones stay in use'))
          .length,
        1,
      );
      writeFileSync(key, second.key);
      const later = connectKafka({ brokers: [mtls], clientId: 'rotation', security }, lines);
      assert.equal(await brokers(later), 1);
      assert.equal(security.principal, 'User:CN=second');
      assert.equal(expiries.length, 2);
      assert.ok(
        lines.lines.some(({ message }) =>
          /kafka\.tls\.certificate\) expires in 5 days: replace it/.test(message),
        ),
      );
      await Promise.all([connection, reader, later].map((one) => one.close()));
    });

    it('logs in again before its session ends, with the current password', async () => {
      const loginsAt: number[] = [];
      const password = async () => {
        loginsAt.push(performance.now());
        return PASSWORD;
      };
      const connection = connect(port, TLS, login('scram-sha-512', password));
      assert.equal(await brokers(connection), 1);
      const firstMs = performance.now();
      assert.equal(await brokers(connection), 1);
      await sleep(firstMs + LATE_IN_SESSION * SESSION_MS - performance.now());
      assert.equal(await brokers(connection), 1);
      assert.ok(loginsAt.length > 1, 'the connection logged in again before its session ended');
      await sleep(firstMs + SESSION_MS + 500 - performance.now());
      assert.equal(await brokers(connection), 1);
      for (const [n, atMs] of loginsAt.slice(1).entries())
        assert.ok(
          atMs - (loginsAt[n] as number) > EARLY_IN_SESSION * SESSION_MS,
          'no login early in the session',
        );
      await connection.close();
    });

    it('replaces a session that it cannot renew, because the token in the file has another subject', async () => {
      let subject = 'nobody';
      // Each login gets a new token, so that a slow machine sends none that has expired.
      const tokens = fileTokens(async () => unsignedToken(subject, SESSION_MS));
      const connection = connect(port, TLS, { mechanism: 'oauthbearer', extensions: {}, tokens });
      assert.equal(await brokers(connection), 1);
      await sleep(LATE_IN_SESSION * SESSION_MS);
      subject = 'connector';
      assert.equal(await brokers(connection), 1);
    });
  });

  function oauth(endpoint: string): SaslOptions {
    const clientSecret = async () => 'client-secret-1';
    return {
      mechanism: 'oauthbearer',
      extensions: { logicalCluster: 'lkc-1' },
      tokens: endpointTokens({
        endpoint,
        clientId: 'connector',
        clientSecret,
        parameters: {},
        open: () => directHttp(),
        timeoutMs: 5_000,
      }),
    };
  }
}

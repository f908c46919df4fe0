import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { explain, requestFailure } from '../../../src/kafka/errors.ts';
import { SecurityError } from '../../../src/kafka/security/security-error.ts';

const protocol = (type: string, more: object = {}): Error =>
  Object.assign(new Error('not authorized'), { name: 'KafkaJSProtocolError', type, ...more });
const connection = (code: string, message = code): Error =>
  Object.assign(new Error(`Connection error: ${message}`), {
    name: 'KafkaJSConnectionError',
    code,
    broker: 'b:9093',
  });
const retried = (cause: Error): Error =>
  Object.assign(new Error(cause.message, { cause }), { name: 'KafkaJSNumberOfRetriesExceeded' });

describe('the explanation of a Kafka error', () => {
  it('names the missing right, its principal and its resource', () => {
    const asked = {
      operation: 'WRITE',
      topic: 'journal',
      group: 'g',
      transactionalIds: 'journal-',
      principal: 'User:me',
    };
    const said = (error: Error) => explain(error, asked);
    assert.match(
      said(protocol('TOPIC_AUTHORIZATION_FAILED')),
      /; grant WRITE on topic journal to User:me \(docs\/kafka-security\.md\)$/,
    );
    assert.match(
      said(protocol('TOPIC_AUTHORIZATION_FAILED', { topic: 'out' })),
      /grant WRITE on topic out to User:me/,
    );
    assert.match(said(protocol('GROUP_AUTHORIZATION_FAILED')), /grant READ on group g to User:me/);
    const tool = { ...asked, groupOperation: 'DESCRIBE' };
    assert.match(
      explain(protocol('GROUP_AUTHORIZATION_FAILED'), tool),
      /grant DESCRIBE on group g to User:me/,
    );
    assert.match(
      said(protocol('TRANSACTIONAL_ID_AUTHORIZATION_FAILED')),
      /grant WRITE on transactional ids that begin with journal- to/,
    );
    assert.match(
      explain(protocol('TOPIC_AUTHORIZATION_FAILED')),
      /grant READ, or WRITE, on topic .* to this client's principal/,
    );
  });

  it('appears once, however often an error is wrapped', () => {
    const inner = new Error(
      explain(retried(protocol('GROUP_AUTHORIZATION_FAILED')), { group: 'g' }),
      {
        cause: protocol('GROUP_AUTHORIZATION_FAILED'),
      },
    );
    assert.equal(explain(inner), inner.message);
  });

  const handshakes: readonly (readonly [string, string, RegExp])[] = [
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', '', /add that authority to kafka\.tls\.ca$/],
    ['SELF_SIGNED_CERT_IN_CHAIN', '', /add that authority to kafka\.tls\.ca$/],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', '', /self-signed: add that certificate to kafka\.tls\.ca$/],
    ['CERT_HAS_EXPIRED', '', /has expired/],
    ['CERT_NOT_YET_VALID', '', /clock of this machine/],
    ['ERR_TLS_CERT_ALTNAME_INVALID', '', /kafka\.tls\.serverName/],
    [
      'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED',
      '',
      /mTLS.*kafka\.tls\.certificate and kafka\.tls\.key/,
    ],
    ['ERR_SSL_SSL/TLS_ALERT_BAD_CERTIFICATE', '', /check kafka\.tls\.certificate/],
    ['ERR_SSL_TLSV1_ALERT_UNKNOWN_CA', '', /brokers trust its issuer/],
    ['ERR_SSL_SSL/TLS_ALERT_CERTIFICATE_EXPIRED', '', /renew the file of kafka\.tls\.certificate/],
    ['ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION', '', /supports neither TLS 1\.2 nor TLS 1\.3/],
    ['ERR_SSL_WRONG_VERSION_NUMBER', '', /kafka\.tls\.enabled to false/],
  ];
  for (const [code, message, expected] of handshakes)
    it(`has a remedy for ${code}, which is not retried`, () => {
      const error = retried(connection(code, message));
      assert.match(explain(error), /^TLS with b:9093 failed \(/);
      assert.match(explain(error), expected);
      assert.equal(requestFailure(error), 'refused');
    });

  it('names both possible causes if a broker disconnects during a handshake', () => {
    const message =
      'Client network socket disconnected before secure TLS connection was established';
    const error = retried(connection('ECONNRESET', message));
    assert.match(
      explain(error),
      /^TLS with b:9093 failed .*kafka\.tls\.enabled to false.*if it requires a certificate/,
    );
    assert.equal(requestFailure(error), 'unreachable');
  });

  it('recommends checking the brokers if the connection is refused', () => {
    const error = retried(connection('ECONNREFUSED', 'connect ECONNREFUSED 127.0.0.1:1'));
    assert.match(explain(error), /check that the brokers run/);
    assert.equal(requestFailure(error), 'unreachable');
  });

  it('repeats the reason of a security error, which decides about retries', () => {
    const told = (retriable: boolean) => retried(new SecurityError('the reason', { retriable }));
    assert.equal(explain(told(true)), 'the reason');
    assert.deepEqual(
      [requestFailure(told(true)), requestFailure(told(false))],
      ['unreachable', 'refused'],
    );
    for (const type of [
      'ILLEGAL_SASL_STATE',
      'UNSUPPORTED_SASL_MECHANISM',
      'CLUSTER_AUTHORIZATION_FAILED',
    ])
      assert.equal(requestFailure(protocol(type)), 'refused');
  });
});

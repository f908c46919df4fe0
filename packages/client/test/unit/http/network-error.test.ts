import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ExchangeStage, NetworkError, networkError } from '../../../src/http/network-error.ts';
import { networkProblem } from '../../../src/service/error-classification.ts';

const advised = (code: string, stage: ExchangeStage) => {
  const error = networkError(
    Object.assign(new Error('of https://x/?sig=hunter22'), { code }),
    stage,
  );
  assert.ok(error instanceof NetworkError);
  return networkProblem(error);
};

test('the error of a failed handshake contains advice', () => {
  const cases: [string, ExchangeStage, RegExp][] = [
    ['ERR_SSL_WRONG_VERSION_NUMBER', 'connecting', /does not speak TLS/],
    ['ERR_SSL_PACKET_LENGTH_TOO_LONG', 'connecting', /does not speak TLS/],
    ['EPROTO', 'connecting', /does not speak TLS/],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'connecting', /service\.tls\.ca/],
    ['SELF_SIGNED_CERT_IN_CHAIN', 'connecting', /service\.tls\.ca/],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'connecting', /service\.tls\.ca/],
    ['CERT_HAS_EXPIRED', 'connecting', /the clock of this machine/],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'connecting', /another host/],
    // TLS 1.3: only now does the gateway report that it required a certificate.
    ['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', 'sent', /service\.tls\.certificate/],
    ['ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL', 'connecting', /HTTP\/1\.1/],
    ['ERR_SSL_NOT_THOUGHT_OF', 'connecting', /check the certificate/],
  ];
  for (const [code, stage, advice] of cases) {
    const problem = advised(code, stage);
    assert.deepEqual([problem.failure, problem.reason], ['unavailable', 'tls_failed'], code);
    assert.match(problem.advice ?? '', advice, code);
    assert.doesNotMatch(JSON.stringify(problem), /hunter22/);
  }
});

test('a refusal by the client is kept at every stage', () => {
  for (const stage of ['connecting', 'sent', 'body'] as const) {
    const refusal = new NetworkError('blocked', 'ADDRESS_NOT_PUBLIC');
    assert.equal(networkError(refusal, stage), refusal);
    assert.equal(networkProblem(refusal).failure, 'blocked');
  }
});

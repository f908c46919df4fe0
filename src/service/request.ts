/** One attempt at one exchange: timed for the observer, with everything that can go wrong turned into a Problem. */

import type { HttpAnswer, HttpPool, HttpRequest } from '../http/http.ts';
import { NetworkError, type NetworkFailure } from '../http/network-error.ts';
import { ProtocolViolation } from './contract-fields.ts';
import type { ServiceContext } from './options.ts';
import type { Problem } from './problem.ts';
import { NOT_PUBLIC } from './transfer-policy.ts';

export type Exchanged<T> =
  | { readonly answer: HttpAnswer; readonly read: T }
  | { readonly problem: Problem };

/**
 * Sends `request` and reads as much of the answer as the caller wants. An answer that `read` finds a ProtocolViolation in is a failed
 * request, whatever its status.
 * @throws only the signal's reason (or an AbortError when the client was closed): such an end is no failure of the service.
 */
export async function exchange<T>(
  context: ServiceContext,
  pool: HttpPool,
  operation: string,
  request: HttpRequest,
  signal: AbortSignal,
  read: (answer: HttpAnswer) => Promise<T>,
): Promise<Exchanged<T>> {
  const { clock, observer } = context;
  const startedMs = clock.monotonic();
  const report = (code: string) =>
    observer.request(operation, code, Math.max(0, clock.monotonic() - startedMs) / 1000);
  let status: number | undefined;
  try {
    const answer = await pool.send(request, signal);
    status = answer.status;
    const dateMs = Date.parse(answer.header('date') ?? '');
    if (!Number.isNaN(dateMs)) observer.answeredAt?.(dateMs, clock.now());
    const done = await read(answer);
    report(String(answer.status));
    return { answer, read: done };
  } catch (error) {
    if (error instanceof ProtocolViolation) {
      report('protocol');
      const what = `answered ${status}, but ${error.message}`;
      return { problem: { failure: 'protocol', what, reason: 'protocol', status } };
    }
    if (!(error instanceof NetworkError)) {
      report('aborted');
      throw error;
    }
    report(error.failure);
    return { problem: networkProblem(error) };
  }
}

export function isSuccess(answer: HttpAnswer): boolean {
  return answer.status >= 200 && answer.status < 300;
}

/** The body of a refusal. When it is cut or endless, the status has to do. @throws the signal's reason */
export async function errorText(answer: HttpAnswer): Promise<string> {
  try {
    return await answer.text();
  } catch (error) {
    if (error instanceof NetworkError) return '';
    throw error;
  }
}

const WHAT: Readonly<Record<NetworkFailure, string>> = {
  connect_failed: 'could not be reached',
  connect_timeout: 'could not be connected to in time',
  tls_failed: 'could not be trusted: the TLS handshake failed',
  headers_timeout: 'did not answer in time',
  body_timeout: 'stopped in the middle of its answer',
  reset: 'closed the connection before its answer was complete',
  bad_answer: 'answered with something that is not HTTP, or too large',
  bad_request: 'was not called: the request cannot be sent',
  proxy_failed: 'was not called: the proxy did not let the request through',
  blocked: 'was refused on this side',
};

/** What to do, where the code says it. */
const TLS_ADVICE: readonly (readonly [RegExp, string])[] = [
  [
    /WRONG_VERSION_NUMBER|PACKET_LENGTH|HTTP_REQUEST|^EPROTO$/,
    'what answers there does not speak TLS: is it http, or another port?',
  ],
  [
    /SELF_SIGNED|UNABLE_TO_|^CERT_UNTRUSTED/,
    'its authority is not trusted here: name the certificate of the authority in service.tls.ca, or in the variable NODE_EXTRA_CA_CERTS',
  ],
  [
    /HAS_EXPIRED|NOT_YET_VALID/,
    'its certificate is not valid now: check it, and the clock of this machine',
  ],
  [/ALTNAME|HOSTNAME/, 'its certificate is that of another host: check the address'],
  [
    /ALERT/,
    'it did not accept this side: if it asks for a client certificate, service.tls.certificate and .key name one',
  ],
];

const BLOCKED: Readonly<Record<string, string>> = {
  ADDRESS_NOT_PUBLIC: `was not called: ${NOT_PUBLIC}`,
  UNKNOWN_CONTENT_ENCODING: 'sent a file in an encoding that is none of gzip, deflate, br and zstd',
  GREW_TOO_MUCH: 'sent a file that grows more than any honest one when it is decompressed',
  RESULT_TOO_LARGE: 'sent a file that is larger than service.transfer.maxResultBytes',
};

/** What a failure below HTTP means for an operation. */
export function networkProblem(error: NetworkError): Problem {
  const what = `${WHAT[error.failure]} (${error.code})`;
  const reason = error.failure;
  if (reason === 'bad_answer') return { failure: 'protocol', what, reason };
  if (reason === 'bad_request') return { failure: 'rejected', what, reason };
  if (reason === 'blocked')
    return { failure: 'blocked', what: BLOCKED[error.code] ?? what, reason };
  if (reason === 'tls_failed') {
    const known = TLS_ADVICE.find(([pattern]) => pattern.test(error.code))?.[1];
    return {
      failure: 'unavailable',
      what,
      reason,
      advice: known ?? 'check the certificate and the trusted authorities',
    };
  }
  if (reason === 'proxy_failed') {
    const wants = error.code === 'HTTP_407' || error.code === 'NO_CREDENTIALS';
    const advice = wants
      ? 'it wants a user and a password: service.proxy.credentials, or user:password@ in the variable that names the proxy'
      : 'check the proxy (service.proxy, HTTPS_PROXY), and whether NO_PROXY should name this host';
    return { failure: 'unavailable', what, reason, advice };
  }
  return { failure: 'unavailable', what, reason };
}

import { errors } from 'undici';

/** Why there was no answer, or only part of one: a closed list, so that it can label metrics. */
export type NetworkFailure =
  /** Name lookup, TCP: nothing was sent. */
  | 'connect_failed'
  | 'connect_timeout'
  /** Certificate or handshake: nothing was sent. */
  | 'tls_failed'
  | 'headers_timeout'
  | 'body_timeout'
  /** The connection ended before the answer did. */
  | 'reset'
  /** What came back is not HTTP. */
  | 'bad_answer'
  /** What was to be sent cannot be sent: a header with a newline, say. Nothing was sent. */
  | 'bad_request'
  /** The proxy did not let it through, or could not be reached. Nothing was sent. */
  | 'proxy_failed'
  /** Refused on this side: where an address leads, or how much comes back (docs/service-security.md). */
  | 'blocked';

/** A failure below HTTP, reduced to what may be shown: the original holds addresses and headers (I6). */
export class NetworkError extends Error {
  override readonly name = 'NetworkError';
  readonly failure: NetworkFailure;
  /** Code of Node or undici, such as ECONNREFUSED. */
  readonly code: string;

  constructor(failure: NetworkFailure, code: string) {
    super(`${failure} (${code})`);
    this.failure = failure;
    this.code = code;
  }
}

const BY_CODE: Readonly<Record<string, NetworkFailure>> = {
  UND_ERR_CONNECT_TIMEOUT: 'connect_timeout',
  UND_ERR_HEADERS_TIMEOUT: 'headers_timeout',
  UND_ERR_BODY_TIMEOUT: 'body_timeout',
  UND_ERR_HEADERS_OVERFLOW: 'bad_answer',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'reset',
  UND_ERR_INVALID_ARG: 'bad_request',
  UND_ERR_NOT_SUPPORTED: 'bad_request',
  UND_ERR_REQ_CONTENT_LENGTH_MISMATCH: 'bad_request',
};

const CLOSED = new Set(['UND_ERR_DESTROYED', 'UND_ERR_CLOSED']);
const TLS = /^(EPROTO$|ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|HOSTNAME_)/;
/** A gateway that wants a certificate says so, in TLS 1.3, only when the request is on its way. */
const TLS_ALERT = /^ERR_SSL_\w*ALERT_/;

/** How far the exchange had come. `sent`: the request had begun to go out on a connection. */
export type Stage = 'connecting' | 'sent' | 'body';

/** What to throw for an error of undici: a NetworkError, or an AbortError when it was our own close() that ended the request. */
export function networkError(error: unknown, stage: Stage): NetworkError | DOMException {
  if (error instanceof NetworkError) return error;
  const raw =
    error instanceof Error && 'code' in error && typeof error.code === 'string'
      ? error.code
      : 'UNKNOWN';
  const code = /^[A-Z][A-Z0-9_]{0,63}$/.test(raw) ? raw : 'UNKNOWN';
  if (CLOSED.has(code)) return new DOMException('The service client was closed', 'AbortError');
  const known = BY_CODE[code];
  if (known !== undefined) return new NetworkError(known, code);
  if (TLS_ALERT.test(code)) return new NetworkError('tls_failed', code);
  if (stage === 'connecting')
    return new NetworkError(TLS.test(code) ? 'tls_failed' : 'connect_failed', code);
  // In a body the parser's complaint is, with or without a code, about an end before the end.
  const notHttp = stage === 'sent' && error instanceof errors.HTTPParserError;
  return new NetworkError(notHttp ? 'bad_answer' : 'reset', code);
}

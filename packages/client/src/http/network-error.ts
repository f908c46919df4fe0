import { errors } from 'undici';

/** Reason why there was no answer, or only part of one: a closed list, so that it can label metrics. */
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
  /** The answer is not HTTP. */
  | 'bad_answer'
  /** The request cannot be sent: a header with a newline, for example. */
  | 'bad_request'
  /** The proxy could not be reached, or did not pass the request on. Nothing was sent. */
  | 'proxy_failed'
  /** Refused on this side: an address, or the size of an answer (docs/service-security.md). */
  | 'blocked';

/** A failure below HTTP, reduced to what may be shown: the original holds addresses and headers. */
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

const TLS = /^(EPROTO$|ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|HOSTNAME_)/;
/** In TLS 1.3 a gateway requires a certificate only when the request is on its way. */
const TLS_ALERT = /^ERR_SSL_\w*ALERT_/;

/** Progress of an exchange. `sent`: the request had begun to go out on a connection. */
export type ExchangeStage = 'connecting' | 'sent' | 'body';

/** Error for one of undici: an AbortError when our own close() ended the request. */
export function networkError(error: unknown, stage: ExchangeStage): NetworkError | DOMException {
  if (error instanceof NetworkError) return error;
  const code = shownErrorCode(error);
  if (code === 'UND_ERR_DESTROYED' || code === 'UND_ERR_CLOSED') {
    return new DOMException('The service client was closed', 'AbortError');
  }
  const known = BY_CODE[code];
  if (known !== undefined) return new NetworkError(known, code);
  if (TLS_ALERT.test(code)) return new NetworkError('tls_failed', code);
  if (stage === 'connecting') {
    return new NetworkError(TLS.test(code) ? 'tls_failed' : 'connect_failed', code);
  }
  // Within a body, an error of the parser means an early end.
  const isNotHttp = stage === 'sent' && error instanceof errors.HTTPParserError;
  return new NetworkError(isNotHttp ? 'bad_answer' : 'reset', code);
}

/** Code of an error of Node or undici, if it is shaped like one. */
export function shownErrorCode(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return /^[A-Z][A-Z0-9_]{0,63}$/.test(code) ? code : 'UNKNOWN';
}

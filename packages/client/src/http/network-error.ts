import { errors } from 'undici';

/** Reasons for a missing or incomplete response. The list is closed, so the reasons can be metric labels. */
export type NetworkFailure =
  /** Name lookup or TCP failed. Nothing was sent. */
  | 'connect_failed'
  | 'connect_timeout'
  /** The certificate or the handshake failed. Nothing was sent. */
  | 'tls_failed'
  | 'headers_timeout'
  | 'body_timeout'
  /** The connection ended before the response was complete. */
  | 'reset'
  /** The response is not HTTP. */
  | 'bad_answer'
  /** The request cannot be sent, for example because of a line break in a header. */
  | 'bad_request'
  /** The proxy could not be reached, or did not forward the request. Nothing was sent. */
  | 'proxy_failed'
  /** Refused by this client because of an address or the size of a response (docs/service-security.md). */
  | 'blocked';

/** Failure below HTTP. It has only what may be shown, because the original error contains addresses and headers. */
export class NetworkError extends Error {
  override readonly name = 'NetworkError';
  readonly failure: NetworkFailure;
  /** Error code of Node or undici, such as ECONNREFUSED. */
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
/** Codes of TLS alerts. In TLS 1.3, a missing client certificate is reported only after the request was sent. */
const TLS_ALERT = /^ERR_SSL_\w*ALERT_/;

/** Progress of an exchange. `sent` means that sending on a connection had begun. */
export type ExchangeStage = 'connecting' | 'sent' | 'body';

/** Converts an error of undici. Returns an AbortError if `close()` of this client ended the request. */
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
  // Within a body, a parser error means that the body ended early.
  const isNotHttp = stage === 'sent' && error instanceof errors.HTTPParserError;
  return new NetworkError(isNotHttp ? 'bad_answer' : 'reset', code);
}

/** Returns the error code of Node or undici, or UNKNOWN if the code does not look like one. */
export function shownErrorCode(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return /^[A-Z][A-Z0-9_]{0,63}$/.test(code) ? code : 'UNKNOWN';
}

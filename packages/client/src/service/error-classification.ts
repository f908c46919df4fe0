/**
 * Errors of the service and its storage: meaning of each failed exchange, and the advice for it.
 * Only text that is safe to show is included.
 */
import { isObject } from '../base/json/json-values.ts';
import { tryParseJson } from '../base/json/parse-json.ts';
import type { Result } from '../base/result.ts';
import { ServiceError, type ServiceFailure } from '../base/service-error.ts';
import { shownCode } from '../base/shown-text.ts';
import type { HttpAnswer } from '../http/http.ts';
import type { NetworkError, NetworkFailure } from '../http/network-error.ts';
import { scrub } from '../http/redaction.ts';
import { parseWebAddress } from '../http/web-address.ts';

/** One day. A longer wait is a mistake of the server or of its clock. */
const LONGEST_MS = 86_400_000;

/**
 * Returns the wait of a Retry-After header (seconds or an HTTP date) in ms, or undefined if it is
 * absent or invalid. Fractions of seconds are not in the standard, but some services send them.
 * @param nowMs time of the response, by the sender's clock if known
 */
export function parseRetryAfterMs(header: string | undefined, nowMs: number): number | undefined {
  const text = header?.trim() ?? '';
  const isNumber = /^\d{1,9}(\.\d{1,9})?$/.test(text);
  if (!isNumber && !/^[A-Za-z]{3}/.test(text)) return undefined;
  const waitMs = isNumber ? Math.ceil(Number(text) * 1000) : Date.parse(text) - nowMs;
  return Number.isNaN(waitMs) ? undefined : Math.min(LONGEST_MS, Math.max(0, waitMs));
}

export interface ServiceProblem {
  readonly failure: ServiceFailure;
  /** Description that can follow "create_batch at host/path". Safe to show. */
  readonly what: string;
  /** Metric label: an HTTP status, or a word from a closed list. */
  readonly reason: string;
  readonly status?: number | undefined;
  readonly retryAfterMs?: number | undefined;
  /** Advice instead of the usual one for this failure, which would be misleading. */
  readonly advice?: string | undefined;
  /** For uploads: true if an attempt whose response was lost may have delivered the file. */
  readonly mayHaveArrived?: boolean;
}

/** Result of one attempt at an operation. `address` is the host and path to show. */
export type ServiceAttempt<T> = Result<T, ServiceProblem & { readonly address: string }>;

const ADVICE: Readonly<Record<ServiceFailure, string>> = {
  rejected: 'the same request will fail again: check that the service accepts what is sent',
  unauthorized: 'check that the API key is the current one and may use this service',
  not_found: 'check baseUrl, and that the id still exists there',
  too_large: 'lower the batch limits in rows or bytes',
  expired: 'request a new address; if it happens often, check the clock of this machine',
  unavailable: 'try again later, or check the service and the network',
  blocked: 'check service.transfer (docs/service-security.md), and which server responds there',
  protocol:
    'the response does not follow the interface: check baseUrl, proxies, and the version of the service',
};

/** Returns the error of an operation, without a cause: errors of HTTP libraries contain addresses and headers. */
export function serviceError(
  operation: string,
  problem: ServiceProblem & { readonly address: string },
  attempts = 1,
): ServiceError {
  const { failure, address, what, advice = ADVICE[failure] } = problem;
  const tried = attempts > 1 ? ` (tried ${attempts} times)` : '';
  const message = `${operation} at ${address} ${what}${tried}; ${advice}`;
  return new ServiceError(failure, message, { ...problem, operation });
}

const NETWORK: Readonly<Record<NetworkFailure, readonly [ServiceFailure, string]>> = {
  connect_failed: ['unavailable', 'could not be reached'],
  connect_timeout: ['unavailable', 'did not accept a connection in time'],
  tls_failed: ['unavailable', 'could not be trusted: the TLS handshake failed'],
  headers_timeout: ['unavailable', 'did not respond in time'],
  body_timeout: ['unavailable', 'stopped in the middle of its response'],
  reset: ['unavailable', 'closed the connection before its response was complete'],
  bad_answer: ['protocol', 'sent a response that is not HTTP, or is too large'],
  bad_request: ['rejected', 'was not called: the request cannot be sent'],
  proxy_failed: ['unavailable', 'was not called: the proxy did not forward the request'],
  blocked: ['blocked', 'was refused by this client'],
};

/** Advice by the code of a network error. The first matching row applies. */
const CODE_ADVICE: readonly (readonly [NetworkFailure, RegExp, string])[] = [
  [
    'tls_failed',
    /WRONG_VERSION_NUMBER|PACKET_LENGTH|HTTP_REQUEST|^EPROTO$/,
    'the server does not speak TLS on this port: check the scheme (http or https) and the port',
  ],
  [
    'tls_failed',
    /SELF_SIGNED|UNABLE_TO_|^CERT_UNTRUSTED/,
    'its certificate is signed by an authority that is not trusted here: add that authority to service.tls.ca or NODE_EXTRA_CA_CERTS',
  ],
  [
    'tls_failed',
    /HAS_EXPIRED|NOT_YET_VALID/,
    'its certificate is not valid now: check it, and the clock of this machine',
  ],
  ['tls_failed', /ALTNAME|HOSTNAME/, 'its certificate belongs to another host: check the address'],
  [
    'tls_failed',
    /NO_APPLICATION_PROTOCOL/,
    'it does not offer HTTP/1.1, the only version used here',
  ],
  [
    'tls_failed',
    /ALERT/,
    'it refuses this client: if it requires a client certificate, set service.tls.certificate and .key',
  ],
  ['tls_failed', /./, 'check the certificate and the trusted authorities'],
  [
    'proxy_failed',
    /^HTTP_407$/,
    'it requires a user and a password: write user:password@ before its host in the environment variable',
  ],
  [
    'proxy_failed',
    /./,
    'check the proxy (HTTPS_PROXY), and whether NO_PROXY should name this host',
  ],
];

export const NOT_PUBLIC =
  'its address is not public: to allow it, add its host or network to service.transfer.allowPrivate';

const BLOCKED: Readonly<Record<string, string>> = {
  ADDRESS_NOT_PUBLIC: `was not called: ${NOT_PUBLIC}`,
  UNKNOWN_CONTENT_ENCODING: 'sent a body in an encoding other than gzip, deflate, br and zstd',
  GREW_TOO_MUCH: 'sent a file that grows suspiciously when it is decompressed',
  RESULT_TOO_LARGE:
    'sent a file that is larger than this client accepts, 1 GiB by default: submit smaller batches',
};

/** Returns the meaning of a failure below the HTTP level. */
export function networkProblem({ failure: reason, code }: NetworkError): ServiceProblem {
  const [failure, text] = NETWORK[reason];
  const what = (reason === 'blocked' && BLOCKED[code]) || `${text} (${code})`;
  const known = CODE_ADVICE.find(([of, pattern]) => of === reason && pattern.test(code));
  return { failure, what, reason, advice: known?.[2] };
}

/** Returns the meaning of a failure within the body of a download. */
export function downloadProblem(error: NetworkError, status: number): ServiceProblem {
  const { failure: reason, code } = error;
  const problem = { ...networkProblem(error), status };
  if (reason === 'reset') {
    const what = `was cut off: the file ended too early (${code})`;
    const advice = 'download it again; the bytes read so far are valid';
    return { ...problem, failure: 'protocol', what, advice };
  }
  if (reason !== 'bad_answer') return problem;
  const what = `sent a file that cannot be decoded (${code})`;
  return { ...problem, what, advice: 'check how the storage compresses its files' };
}

function failureOfStatus(status: number): ServiceFailure {
  if (status === 401 || status === 403) return 'unauthorized';
  if (status === 404 || status === 410) return 'not_found';
  if (status === 413) return 'too_large';
  if (status === 408 || status === 429 || status >= 500) return 'unavailable';
  return status >= 400 ? 'rejected' : 'protocol';
}

/** Returns the time of a response by the sender's clock, from its Date header. */
function sentMs(answer: HttpAnswer): number | undefined {
  const ms = Date.parse(answer.header('date') ?? '');
  return Number.isNaN(ms) ? undefined : ms;
}

function statusProblem(answer: HttpAnswer, words: string, nowMs: number): ServiceProblem {
  const { status } = answer;
  return {
    failure: failureOfStatus(status),
    what: `responded with ${status}${words}`,
    reason: String(status),
    status,
    retryAfterMs: parseRetryAfterMs(answer.header('retry-after'), sentMs(answer) ?? nowMs),
  };
}

/**
 * Returns the meaning of an unsuccessful response from baseUrl. It is decided by the status,
 * because the API does not define errors.
 * @param shown `code` to leave out the message, because a message about uploaded rows may quote
 * them
 * @param secret never shown, even if the service sends it
 */
export function apiProblem(
  answer: HttpAnswer,
  text: string,
  shown: 'message' | 'code',
  secret: string,
  nowMs: number,
): ServiceProblem {
  const found = wordsOf(answer.header('content-type') ?? '', text);
  const code = found.code && scrub(found.code, [secret]);
  const isShown = shown === 'message' && found.message !== found.code;
  const message = isShown && found.message && scrub(found.message, [secret]);
  const words = `${code ? ` ${code}` : ''}${message ? ` "${message}"` : ''}`;
  const problem = statusProblem(answer, words, nowMs);
  if (answer.status < 300 || answer.status >= 400) return problem;
  const target = parseWebAddress(answer.header('location') ?? '');
  const to = target ? ` (this one leads to ${scrub(target.origin, [secret])})` : '';
  const advice = `baseUrl must be the final address${to}: redirects are not followed with a key`;
  return { ...problem, advice };
}

interface ErrorWords {
  readonly code?: string | undefined;
  readonly message?: string | undefined;
}

/**
 * Returns the code and message of an error, from the usual members. Pages (HTML) come from a
 * gateway, and are not shown.
 */
function wordsOf(contentType: string, text: string): ErrorWords {
  if (/^text\/plain\b/i.test(contentType)) return { message: text };
  const body = tryParseJson(text);
  if (!isObject(body)) return {};
  const inner = [body.error, Array.isArray(body.errors) && body.errors[0]].find(isObject) ?? body;
  const { message, detail, title, error_description } = inner;
  const messages = [message, detail, title, error_description, body.message, body.error];
  return {
    code: [inner.code, inner.type, inner.error].map(shownCode).find(Boolean),
    message: messages.find((value) => typeof value === 'string'),
  };
}

/**
 * Error codes of S3, compatible storages and Azure. No other word is shown, because a storage could
 * put a piece of the signature or of the content there.
 */
const STORAGE_CODES = new Set(
  [
    'AccessDenied BadDigest EntityTooLarge ExpiredToken InternalError InvalidAccessKeyId',
    'InvalidRequest MissingContentLength NoSuchBucket NoSuchKey NotImplemented QuotaExceeded',
    'RequestTimeout RequestTimeTooSkewed ServiceUnavailable SignatureDoesNotMatch SlowDown',
    'TooManyRequests AuthenticationFailed AuthorizationFailure BlobNotFound ContainerNotFound',
    'MissingRequiredHeader RequestBodyTooLarge ServerBusy',
  ].flatMap((line) => line.split(' ')),
);

/** S3's code in the 400 response to a slow upload, and codes of overload, which may come with any status. */
const TRANSIENT_CODES = /^(RequestTimeout|SlowDown|ServerBusy|ServiceUnavailable|TooManyRequests)$/;

/** Returns the meaning of an unsuccessful response from the storage. Its XML is never shown. */
export function storageProblem(answer: HttpAnswer, xml: string, nowMs: number): ServiceProblem {
  const found = element(xml, 'Code');
  const code = STORAGE_CODES.has(found) ? found : '';
  const problem = statusProblem(answer, code && ` ${code}`, nowMs);
  // Both an expired address and a wrong signature are 403. The XML distinguishes them.
  const isExpired = answer.status === 403 && /request has expired/i.test(element(xml, 'Message'));
  if (code === 'ExpiredToken' || isExpired) return { ...problem, failure: 'expired' };
  if (/TooLarge$/.test(code)) return { ...problem, failure: 'too_large' };
  if (TRANSIENT_CODES.test(code)) return { ...problem, failure: 'unavailable' };
  if (problem.failure !== 'unauthorized') return problem;
  const advice =
    'the signature does not match the request: check the Content-Type and extra headers of uploads, and the clock';
  return { ...problem, failure: 'rejected', advice };
}

/** Returns the text of the first element with this name. Two flat elements need no XML parser. */
function element(xml: string, name: string): string {
  const start = xml.indexOf(`<${name}>`);
  const end = xml.indexOf(`</${name}>`, start);
  return start < 0 || end < 0 ? '' : xml.slice(start + name.length + 2, end).trim();
}

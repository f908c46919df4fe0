/**
 * One attempt at one exchange. The observer receives its duration. Inside a traced step it has its
 * own span. Every failure becomes a ServiceProblem.
 */

import { retryWaitMs } from '../base/backoff.ts';
import { err, type Result } from '../base/result.ts';
import { currentSpan, NO_SPAN, type Span, traceHeadersOf } from '../base/tracing.ts';
import type { HttpAnswer, HttpPool, HttpRequest } from '../http/http.ts';
import { NetworkError } from '../http/network-error.ts';
import { shownAddress } from '../http/redaction.ts';
import { ProtocolViolation } from './answers.ts';
import {
  networkProblem,
  type ServiceAttempt,
  type ServiceProblem,
  serviceError,
} from './error-classification.ts';
import type { ServiceContext } from './options.ts';

export interface ServiceRequest extends HttpRequest {
  /** Metric label, such as `create_batch`. */
  readonly operation: string;
  /** Number of earlier exchanges of this operation, because of retries and redirects. */
  readonly resends: number;
  /** Path with placeholders. Only calls to baseUrl have one, and only these send the trace context. */
  readonly template?: () => string;
}

/**
 * Sends `request`, and reads the part of the response that the caller needs. If `read` throws a
 * ProtocolViolation, the request has failed, whatever its status.
 * @throws only the signal's reason, or an AbortError if the client was closed, because neither is a
 * failure of the service
 */
export async function exchange<T>(
  { clock, observer }: ServiceContext,
  pool: HttpPool,
  request: ServiceRequest,
  signal: AbortSignal,
  read: (answer: HttpAnswer) => Promise<Result<T, ServiceProblem>>,
): Promise<ServiceAttempt<T>> {
  let startedMs = clock.monotonic();
  const span = requestSpan(request);
  const onSent = () => {
    // The wait for a free connection is not included, because it depends only on this side.
    startedMs = clock.monotonic();
    request.onSent?.();
  };
  const report = (code: string) => {
    const seconds = Math.max(0, clock.monotonic() - startedMs) / 1000;
    observer.request?.(request.operation, code, seconds);
    if (span === NO_SPAN) return;
    if (status !== undefined) span.set({ 'http.response.status_code': status });
    span.end(/^[123]\d\d$/.test(code) ? undefined : code);
  };
  const failed = (problem: ServiceProblem) =>
    err({ ...problem, address: shownAddress(request.url) });
  let status: number | undefined;
  try {
    // Only calls to baseUrl have a template. A storage must not receive the trace.
    const context = request.template !== undefined && span.ids && traceHeadersOf(span.ids);
    const headers = context ? { ...request.headers, ...context } : request.headers;
    const answer = await pool.send({ ...request, headers, onSent }, signal);
    status = answer.status;
    const result = await read(answer);
    report(String(status));
    return result.ok ? result : failed(result.error);
  } catch (error) {
    if (error instanceof ProtocolViolation) {
      report('protocol');
      const what = `responded with ${status}, but ${error.message}`;
      return failed({ failure: 'protocol', what, reason: 'protocol', status });
    }
    if (!(error instanceof NetworkError)) {
      report('aborted');
      throw error;
    }
    report(error.failure);
    return failed(networkProblem(error));
  }
}

/** Starts a span according to OpenTelemetry's conventions for HTTP clients. Its address has no query (I6). */
function requestSpan({ method, url, resends, template }: ServiceRequest): Span {
  const step = currentSpan();
  if (step === NO_SPAN) return NO_SPAN;
  const path = template?.();
  return step.step(
    path === undefined ? method : `${method} ${path}`,
    {
      'http.request.method': method,
      'url.full': `${url.protocol}//${shownAddress(url)}`,
      'server.address': url.hostname.replace(/^\[|\]$/g, ''),
      'server.port': Number(url.port) || (url.protocol === 'https:' ? 443 : 80),
      ...(path !== undefined && { 'url.template': path }),
      ...(resends > 0 && { 'http.request.resend_count': resends }),
    },
    'client',
  );
}

export function isSuccess({ status }: HttpAnswer): boolean {
  return status >= 200 && status < 300;
}

/** Returns the body of an error response, or '' if it is cut off or too long. @throws the signal's reason */
export async function errorText(answer: HttpAnswer): Promise<string> {
  try {
    return await answer.text();
  } catch (error) {
    if (error instanceof NetworkError) return '';
    throw error;
  }
}

/**
 * Runs `attempt` until it succeeds, fails permanently, or reaches the limit of attempts or time. A
 * Retry-After is the minimum wait. If the wait would end after maxElapsedMs, the error is thrown at
 * once, and contains the Retry-After.
 * @throws ServiceError, or the signal's reason; an abort ends a wait at once
 */
export async function withRetry<T>(
  { settings, clock, random, observer }: ServiceContext,
  operation: string,
  signal: AbortSignal,
  attempt: (failures: number) => Promise<ServiceAttempt<T>>,
): Promise<T> {
  const { maxRetries, maxElapsedMs } = settings.retry;
  let giveUpAtMs = Infinity;
  for (let failures = 0; ; failures++) {
    signal.throwIfAborted();
    const result = await attempt(failures);
    if (result.ok) return result.value;

    const { failure, reason, retryAfterMs } = result.error;
    // Starts with the first failure, so that a queue or a slow first attempt does not count.
    if (failures === 0) giveUpAtMs = clock.monotonic() + maxElapsedMs;
    const waitMs = retryWaitMs(failures, settings.retry, random, retryAfterMs);
    const isTransient = failure === 'unavailable';
    if (!isTransient || failures >= maxRetries || clock.monotonic() + waitMs > giveUpAtMs) {
      throw serviceError(operation, result.error, failures + 1);
    }
    observer.retry?.(operation, reason);
    await clock.sleep(waitMs, signal);
  }
}

/**
 * One attempt at one exchange: timed for the observer, a span of its own inside a traced step, with
 * every failure turned into a problem.
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
  /** Label of metrics: `create_batch`. */
  readonly operation: string;
  /** Exchanges that this one repeats or continues: retries and redirects. */
  readonly resends: number;
  /** Path with placeholders, for calls to baseUrl alone: only they carry the context of the trace. */
  readonly template?: () => string;
}

/**
 * Sends `request` and reads the part of the answer that the caller needs. An answer in which `read`
 * finds a ProtocolViolation is a failed request, whatever its status.
 * @throws only the signal's reason (or an AbortError when the client was closed): such an end is
 * no failure of the service
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
    // Without the wait for a free connection, which says nothing about the service.
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
    // Calls to baseUrl alone have a template: a storage must not receive the trace.
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
      const what = `answered ${status}, but ${error.message}`;
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

/** By OpenTelemetry's conventions for HTTP clients; the address without its query (I6). */
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

/** Body of an error; empty when it is cut or endless. @throws the signal's reason */
export async function errorText(answer: HttpAnswer): Promise<string> {
  try {
    return await answer.text();
  } catch (error) {
    if (error instanceof NetworkError) return '';
    throw error;
  }
}

/**
 * Runs `attempt` until it succeeds, fails permanently, or the settings' count or time is used up.
 * A Retry-After is a floor of the wait; if that wait would end after maxElapsedMs, the error is
 * thrown at once and carries it.
 * @throws ServiceError, or the signal's reason: an abort ends the wait between two tries at once
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
    // Counted from the first failure: neither a queue before it nor a long first try uses it up.
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

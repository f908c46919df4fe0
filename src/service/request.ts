/** One attempt at one exchange: timed for the observer, with every failure turned into a problem. */
import { err, type Result } from '../base/result.ts';
import type { HttpAnswer, HttpPool, HttpRequest } from '../http/http.ts';
import { NetworkError } from '../http/network-error.ts';
import { shownAddress } from '../http/redaction.ts';
import { ProtocolViolation } from './answers.ts';
import {
  networkProblem,
  type ServiceAttempt,
  type ServiceProblem,
} from './error-classification.ts';
import type { ServiceContext } from './options.ts';

/**
 * Sends `request` and reads the part of the answer that the caller needs. An answer in which `read`
 * finds a ProtocolViolation is a failed request, whatever its status.
 * @throws only the signal's reason (or an AbortError when the client was closed): such an end is
 * no failure of the service
 */
export async function exchange<T>(
  { clock, observer }: ServiceContext,
  pool: HttpPool,
  operation: string,
  request: HttpRequest,
  signal: AbortSignal,
  read: (answer: HttpAnswer) => Promise<Result<T, ServiceProblem>>,
): Promise<ServiceAttempt<T>> {
  const startedMs = clock.monotonic();
  const report = (code: string, detail?: string) => {
    const seconds = Math.max(0, clock.monotonic() - startedMs) / 1000;
    observer.request(operation, code, seconds, detail);
  };
  const failed = (problem: ServiceProblem) =>
    err({ ...problem, address: shownAddress(request.url) });
  let status: number | undefined;
  try {
    const answer = await pool.send(request, signal);
    status = answer.status;
    const dateMs = Date.parse(answer.header('date') ?? '');
    if (!Number.isNaN(dateMs)) observer.answeredAt?.(dateMs, clock.now());
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
    report(error.failure, error.code);
    return failed(networkProblem(error));
  }
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

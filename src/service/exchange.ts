/** One attempt at one exchange: timed for the observer, with everything that can go wrong turned into a Problem. */
import type { HttpAnswer, HttpPool, HttpRequest } from './http.ts';
import { NetworkError, type NetworkFailure } from './network-error.ts';
import type { ServiceContext } from './options.ts';
import type { Problem } from './problem.ts';

export type Exchanged<T> = { readonly answer: HttpAnswer; readonly read: T } | { readonly problem: Problem };

/**
 * Sends `request` and reads as much of the answer as the caller wants.
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
  const startedMs = clock.now();
  const report = (code: string) => observer.request(operation, code, Math.max(0, clock.now() - startedMs) / 1000);
  try {
    const answer = await pool.send(request, signal);
    const done = await read(answer);
    report(String(answer.status));
    return { answer, read: done };
  } catch (error) {
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
};

/** What a failure below HTTP means for an operation. */
export function networkProblem(error: NetworkError): Problem {
  const what = `${WHAT[error.failure]} (${error.code})`;
  const reason = error.failure;
  if (reason === 'bad_answer') return { failure: 'protocol', what, reason };
  if (reason === 'bad_request') return { failure: 'rejected', what, reason };
  if (reason === 'tls_failed')
    return { failure: 'unavailable', what, reason, advice: 'check the certificate and the trusted authorities' };
  return { failure: 'unavailable', what, reason };
}

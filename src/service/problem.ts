/** From what went wrong in one exchange to the ServiceError that the engine sees. */
import { ServiceError, type ServiceFailure } from '../core/outcome/service-error.ts';

export interface Problem {
  readonly failure: ServiceFailure;
  /** What happened, continuing "create_batch at host/path …". Already fit to be shown (I6). */
  readonly what: string;
  /** The label of metrics: an HTTP status, or a word out of a closed list. */
  readonly reason: string;
  readonly status?: number | undefined;
  readonly retryAfterMs?: number | undefined;
  /** What to do, when the failure's usual advice would mislead. */
  readonly advice?: string;
  /** Not to be tried again here, also when the failure may pass. */
  readonly final?: boolean;
  /** Of uploads: a try whose answer was lost may have brought the file. */
  readonly mayHaveArrived?: boolean;
  /** Of downloads: the same would come again. */
  readonly sameAgain?: boolean;
}

const ADVICE: Readonly<Record<ServiceFailure, string>> = {
  rejected: 'the same request will fail again: check what is sent against what the service accepts',
  unauthorized: 'check that the API key is the current one and may use this service',
  not_found: 'check base_url, and that the id was made by this service and still exists',
  too_large: 'send less at once: lower the batch limits in rows or bytes',
  expired: 'ask for a new address; if it happens often, check the clock of this machine',
  unavailable: 'try again later; if it stays, check the service and the network between',
  blocked:
    'this side refuses it, and does so again: check service.transfer (docs/service-security.md), and who answers there',
  protocol:
    'the answer is not what service-interface.md promises: check base_url, proxies between, and the version of the service',
};

/**
 * The error of an operation. No cause is attached on purpose: errors of HTTP libraries hold addresses and headers (I6).
 */
export function serviceError(
  operation: string,
  address: string,
  problem: Problem,
  attempts = 1,
): ServiceError {
  const tried = attempts > 1 ? ` (tried ${attempts} times)` : '';
  const message = `${operation} at ${address} ${problem.what}${tried}; ${problem.advice ?? ADVICE[problem.failure]}`;
  return new ServiceError(problem.failure, message, {
    operation,
    status: problem.status,
    retryAfterMs: problem.retryAfterMs,
    mayHaveArrived: problem.mayHaveArrived,
    sameAgain: problem.sameAgain,
  });
}

/** One attempt: its value, or what went wrong. */
export type Attempt<T> =
  | { readonly value: T }
  | { readonly problem: Problem; readonly address: string };

import { retryWaitMs } from '../base/backoff.ts';
import { type ServiceAttempt, serviceError } from './error-classification.ts';
import type { ServiceContext } from './options.ts';

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

    const { failure, final, reason, retryAfterMs } = result.error;
    // Counted from the first failure: neither a queue before it nor a long first try uses it up.
    if (failures === 0) giveUpAtMs = clock.monotonic() + maxElapsedMs;
    const waitMs = retryWaitMs(failures, settings.retry, random, retryAfterMs);
    const isTransient = failure === 'unavailable' && final !== true;
    if (!isTransient || failures >= maxRetries || clock.monotonic() + waitMs > giveUpAtMs) {
      throw serviceError(operation, result.error, failures + 1);
    }
    observer.retry(operation, reason);
    await clock.sleep(waitMs, signal);
  }
}

/** Retry as a decorator: what may pass (`unavailable`) is tried again, everything else is thrown at once. */
import { retryWaitMs } from '../base/backoff.ts';
import type { ServiceContext } from './options.ts';
import { type Attempt, serviceError } from './problem.ts';

/**
 * Runs `attempt` until it has a value, fails for good, or the settings' count or time is used up.
 * A Retry-After is a floor; when waiting for it would pass maxElapsedMs the error is thrown at once and carries it.
 * @throws ServiceError, or the signal's reason: an abort ends the wait between two tries immediately.
 */
export async function withRetry<T>(
  context: ServiceContext,
  operation: string,
  signal: AbortSignal,
  attempt: () => Promise<Attempt<T>>,
): Promise<T> {
  const { settings, clock, random, observer } = context;
  let giveUpAtMs = Number.POSITIVE_INFINITY;
  for (let failures = 0; ; failures++) {
    signal.throwIfAborted();
    const outcome = await attempt();
    if ('value' in outcome) return outcome.value;

    const { problem, address } = outcome;
    // Counted from the first failure: neither a queue before it nor a long first try eats up the retries.
    if (failures === 0) giveUpAtMs = clock.monotonic() + settings.retry.maxElapsedMs;
    const waitMs = retryWaitMs(failures, settings.retry, random, problem.retryAfterMs);
    const worthIt =
      problem.failure === 'unavailable' &&
      problem.final !== true &&
      failures < settings.retry.maxRetries;
    if (!worthIt || clock.monotonic() + waitMs > giveUpAtMs)
      throw serviceError(operation, address, problem, failures + 1);

    observer.retry(operation, problem.reason);
    await clock.sleep(waitMs, signal);
  }
}

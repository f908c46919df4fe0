import { ServiceError } from './base/service-error.ts';
import type { CallOptions, ServiceContext, WaitOptions } from './service/options.ts';

/** Time after a creation in which a 404 is expected, because the service's reads may lag behind its writes. */
const NEW_MS = 60_000;

/**
 * Polls until `isOver` returns true, with growing delays and jitter. Goes on during
 * outages once the service has responded, and on a 404 in the first minute after the creation.
 * @param createdMs time at which this client created the resource (monotonic clock); undefined if
 * it did not
 * @throws ServiceError, or the signal's reason
 */
export async function waitUntil<View>(
  { clock, random }: Pick<ServiceContext, 'clock' | 'random'>,
  options: WaitOptions<View> & { readonly signal: AbortSignal },
  get: (options: CallOptions) => Promise<View>,
  isOver: (view: View) => boolean,
  createdMs?: number,
): Promise<View> {
  const { signal, firstDelayMs = 1_000, maxDelayMs = 30_000 } = options;
  let hasResponded = createdMs !== undefined;
  for (let requests = 0; ; requests++) {
    const ceilingMs = Math.min(maxDelayMs, firstDelayMs * 1.5 ** requests);
    let delayMs = ceilingMs * (0.5 + random.next() / 2);
    try {
      const view = await get({ signal });
      hasResponded = true;
      options.onAnswer?.(view);
      if (isOver(view)) return view;
    } catch (error) {
      const isNew = createdMs !== undefined && clock.monotonic() < createdMs + NEW_MS;
      const isTransient =
        error instanceof ServiceError &&
        (error.failure === 'unavailable' ? hasResponded : error.failure === 'not_found' && isNew);
      if (!isTransient) throw error;
      delayMs = Math.max(delayMs, error.retryAfterMs ?? 0);
    }
    await clock.sleep(delayMs, signal);
  }
}

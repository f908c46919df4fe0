import { ServiceError } from './base/service-error.ts';
import type { CallOptions, ServiceContext, WaitOptions } from './service/options.ts';

/** Time in which the service may not know yet what it has created: its reads may lag behind its writes. */
const NEW_MS = 60_000;

/**
 * Polls until `isOver`, ever less often and with jitter. Continues through outages of the service once it has responded, and
 * through a 404 for a minute after the creation.
 * @param createdMs monotonic time at which this client created the polled resource; undefined: it has not.
 * @throws ServiceError; the signal's reason
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

import { ServiceError } from './base/service-error.ts';
import type { CallOptions, ServiceContext, WaitOptions } from './service/options.ts';

/**
 * Polls until `isOver`, ever less often and with jitter. Continues through outages of the service once it has responded.
 * @throws ServiceError; the signal's reason
 */
export async function waitUntil<View>(
  { clock, random }: Pick<ServiceContext, 'clock' | 'random'>,
  options: WaitOptions<View> & { readonly signal: AbortSignal },
  get: (options: CallOptions) => Promise<View>,
  isOver: (view: View) => boolean,
): Promise<View> {
  const { signal, firstDelayMs = 1_000, maxDelayMs = 30_000 } = options;
  let hasResponded = false;
  for (let requests = 0; ; requests++) {
    const ceilingMs = Math.min(maxDelayMs, firstDelayMs * 1.5 ** requests);
    let delayMs = ceilingMs * (0.5 + random.next() / 2);
    try {
      const view = await get({ signal });
      hasResponded = true;
      options.onAnswer?.(view);
      if (isOver(view)) return view;
    } catch (error) {
      const isOutage = error instanceof ServiceError && error.failure === 'unavailable';
      if (!isOutage || !hasResponded) throw error;
      delayMs = Math.max(delayMs, error.retryAfterMs ?? 0);
    }
    await clock.sleep(delayMs, signal);
  }
}

/** Asking until something is finished: ever less often, and never in step with others. */
import type { Clock } from '../core/ports/clock.ts';
import { WaitTimeoutError } from './errors.ts';
import type { CallOptions } from './options.ts';

export interface WaitOptions<View> extends CallOptions {
  /** Gives up after this long, in ms. Default: never. */
  readonly timeoutMs?: number;
  /** Longest wait before the second question, in ms; grows by half with each. Default 1 s. */
  readonly firstDelayMs?: number;
  /** No wait grows beyond this, in ms. Default 30 s. */
  readonly maxDelayMs?: number;
  /** Told every answer. */
  readonly onAnswer?: (view: View) => void;
}

/** What every resource has. */
interface Watched {
  readonly rawStatus: string;
}

/**
 * Asks until `finished`.
 * @throws WaitTimeoutError after timeoutMs; what `ask` throws; the signal's reason.
 */
export async function waitUntil<View extends Watched>(
  clock: Clock,
  id: string,
  options: WaitOptions<View> & { readonly signal: AbortSignal },
  ask: (signal: AbortSignal) => Promise<View>,
  finished: (view: View) => boolean,
): Promise<View> {
  const { timeoutMs = Number.POSITIVE_INFINITY, firstDelayMs = 1_000, maxDelayMs = 30_000 } = options;
  const { signal: caller } = options;
  const deadline = new AbortController();
  const signal = AbortSignal.any([caller, deadline.signal]);
  const disarm = timeoutMs === Number.POSITIVE_INFINITY ? () => {} : clock.after(timeoutMs, () => deadline.abort());
  let lastStatus: string | undefined;
  try {
    for (let asked = 0; ; asked++) {
      const view = await ask(signal);
      lastStatus = view.rawStatus;
      options.onAnswer?.(view);
      if (finished(view)) return view;
      const ceilingMs = Math.min(maxDelayMs, firstDelayMs * 1.5 ** asked);
      await clock.sleep(ceilingMs * (0.5 + Math.random() / 2), signal);
    }
  } catch (error) {
    if (deadline.signal.aborted && !caller.aborted) throw new WaitTimeoutError(id, lastStatus, timeoutMs);
    throw error;
  } finally {
    disarm();
  }
}

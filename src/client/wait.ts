/** Asking until something is finished: ever less often, and never in step with others. */
import type { Clock } from '../base/clock.ts';
import { NotFoundError, WaitTimeoutError } from './errors.ts';
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

/** For how long after its creation a resource may be unknown to the service, ms: what was written may reach its readers late. */
const NEW_MS = 30_000;
/** Created ones that are remembered. */
const MOST_NEW = 1_000;

/** Ids that this client was given lately. */
export class NewIds {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #createdMs = new Map<string, number>();

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  add(id: string): void {
    const [oldest] = this.#createdMs.keys();
    if (oldest !== undefined && this.#createdMs.size >= MOST_NEW) this.#createdMs.delete(oldest);
    this.#createdMs.set(id, this.#clock.monotonic());
  }

  has(id: string): boolean {
    return this.#clock.monotonic() - (this.#createdMs.get(id) ?? Number.NEGATIVE_INFINITY) < NEW_MS;
  }
}

/** What every resource has. */
interface Watched {
  readonly rawStatus: string;
}

/**
 * Asks until `finished`.
 * @param isNew whether the service may not know the id yet
 * @throws WaitTimeoutError after timeoutMs; what `ask` throws; the signal's reason.
 */
export async function waitUntil<View extends Watched>(
  clock: Clock,
  id: string,
  options: WaitOptions<View> & { readonly signal: AbortSignal },
  ask: (signal: AbortSignal) => Promise<View>,
  finished: (view: View) => boolean,
  isNew: () => boolean = () => false,
): Promise<View> {
  const {
    timeoutMs = Number.POSITIVE_INFINITY,
    firstDelayMs = 1_000,
    maxDelayMs = 30_000,
  } = options;
  const { signal: caller } = options;
  const deadline = new AbortController();
  const signal = AbortSignal.any([caller, deadline.signal]);
  const disarm =
    timeoutMs === Number.POSITIVE_INFINITY
      ? () => {}
      : clock.after(timeoutMs, () => deadline.abort());
  let lastStatus: string | undefined;
  try {
    for (let asked = 0; ; asked++) {
      const view = await ask(signal).catch((error: unknown) => {
        if (error instanceof NotFoundError && isNew()) return undefined;
        throw error;
      });
      lastStatus = view?.rawStatus ?? lastStatus;
      if (view !== undefined) options.onAnswer?.(view);
      if (view !== undefined && finished(view)) return view;
      const ceilingMs = Math.min(maxDelayMs, firstDelayMs * 1.5 ** asked);
      await clock.sleep(ceilingMs * (0.5 + Math.random() / 2), signal);
    }
  } catch (error) {
    if (deadline.signal.aborted && !caller.aborted)
      throw new WaitTimeoutError(id, lastStatus, timeoutMs);
    throw error;
  } finally {
    disarm();
  }
}

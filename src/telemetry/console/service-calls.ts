/** Calls to the service as the console shows them: the newest answer, and the calls that fail. */

/** A call that has not been repeated for this long is over: its batch went to another instance. */
const OVER_MS = 120_000;

export interface FailingCall {
  /** `get_batch`, `upload`, … */
  readonly operation: string;
  /** Status, or kind of failure, with the code of the network in brackets. */
  readonly error: string;
  readonly kind: 'refused' | 'unavailable' | 'invalid';
  /** First failure since the last success of the operation. */
  readonly sinceMs: number;
  readonly lastMs: number;
  readonly times: number;
}

export class ServiceCalls {
  /** Origin of the service: without path and query. */
  readonly origin: string;
  readonly #now: () => number;
  readonly #failing = new Map<string, FailingCall>();
  #answeredMs: number | null = null;

  constructor(baseUrl: string, now: () => number) {
    this.origin = new URL(baseUrl).origin;
    this.#now = now;
  }

  /** Notes the end of a call, as ServiceObserver.request. */
  ended(operation: string, code: string, detail?: string): void {
    if (code === 'aborted') return;
    const nowMs = this.#now();
    const kind = kindOf(code);
    if (kind !== 'unavailable' || /^\d+$/.test(code)) this.#answeredMs = nowMs;
    if (kind === undefined) {
      this.#failing.delete(operation);
      return;
    }
    const before = this.#failing.get(operation);
    this.#failing.set(operation, {
      operation,
      error: detail === undefined ? code : `${code} (${detail})`,
      kind,
      sinceMs: before?.sinceMs ?? nowMs,
      lastMs: nowMs,
      times: (before?.times ?? 0) + 1,
    });
  }

  view() {
    const failing = [...this.#failing.values()].filter(
      ({ lastMs }) => this.#now() - lastMs < OVER_MS,
    );
    return { origin: this.origin, answeredMs: this.#answeredMs, failing };
  }
}

/** @returns undefined for an answer that is no trouble of the service as a whole */
function kindOf(code: string): FailingCall['kind'] | undefined {
  if (code === 'protocol' || code === 'bad_answer') return 'invalid';
  const status = Number(code);
  if (status === 401 || status === 403) return 'refused';
  if (Number.isNaN(status)) return 'unavailable';
  return status >= 500 || status === 429 || status === 408 ? 'unavailable' : undefined;
}

/**
 * Silence of brokers: the time since the first request, or attempt to connect, that a broker has
 * not answered since. A frozen broker closes no connection and refuses none, so a failed request
 * would show it only after its timeout.
 */

/** Requests that brokers answer only once other members of the group have done their part. */
const HELD_BACK = /^(JoinGroup|SyncGroup)$/;
/** A broker that nothing was sent to for this long is forgotten: it may be gone permanently. */
const FORGOTTEN_MS = 60_000;

interface BrokerState {
  /** Monotonic clock, ms; undefined: it has answered since the last request. */
  unansweredMs: number | undefined;
  lastSentMs: number;
  inFlight: number;
}

export class BrokerSilence {
  readonly #now: () => number;
  readonly #brokers = new Map<string, BrokerState>();

  /** @param now monotonic clock, ms */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /**
   * Notes a request, or an attempt to connect.
   * @returns to be called at its end, with whether the broker has answered
   */
  sent(broker: string, what: string): (answered: boolean) => void {
    const nowMs = this.#now();
    const state = this.#brokers.get(broker) ?? {
      unansweredMs: undefined,
      lastSentMs: nowMs,
      inFlight: 0,
    };
    this.#brokers.set(broker, state);
    state.lastSentMs = nowMs;
    state.inFlight++;
    if (!HELD_BACK.test(what)) state.unansweredMs ??= nowMs;
    return (answered) => {
      state.inFlight--;
      if (answered) state.unansweredMs = undefined;
    };
  }

  /** Least silence of a broker, ms. */
  get silentMs(): number {
    const nowMs = this.#now();
    for (const [broker, { inFlight, lastSentMs }] of this.#brokers)
      if (inFlight === 0 && nowMs - lastSentMs > FORGOTTEN_MS) this.#brokers.delete(broker);
    const silent = [...this.#brokers.values()].map(
      ({ unansweredMs = nowMs }) => nowMs - unansweredMs,
    );
    return silent.length === 0 ? 0 : Math.min(...silent);
  }
}

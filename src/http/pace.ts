/** The least speed of a download: each byte starts the clock of silence anew, so one that drips would hold its place for ever. */
import { NetworkError } from './network-error.ts';

export interface PaceLimits {
  /** Waiting that needs no byte to excuse it. */
  readonly graceMs: number;
  /** Each second of waiting beyond takes as many. */
  readonly bytesPerSecond: number;
}

export class Pace {
  #waitedMs = 0;
  #sinceMs: number | undefined;
  readonly #timer: NodeJS.Timeout;

  /** @param received bytes up to now, as they came over the network @param giveUp called once it is too slow */
  constructor(
    { graceMs, bytesPerSecond }: PaceLimits,
    received: () => number,
    giveUp: (error: NetworkError) => void,
  ) {
    const look = () => {
      if (this.#sinceMs === undefined) return;
      const waitedMs = this.#waitedMs + performance.now() - this.#sinceMs;
      if (waitedMs > graceMs + (received() / bytesPerSecond) * 1000)
        giveUp(new NetworkError('body_timeout', 'BODY_TOO_SLOW'));
    };
    this.#timer = setInterval(look, graceMs);
  }

  /** From here on time counts: the reader wants more. */
  wait(): void {
    this.#sinceMs = performance.now();
  }

  /** What the reader does with it is its own time. */
  arrived(): void {
    if (this.#sinceMs !== undefined) this.#waitedMs += performance.now() - this.#sinceMs;
    this.#sinceMs = undefined;
  }

  close(): void {
    clearInterval(this.#timer);
  }
}

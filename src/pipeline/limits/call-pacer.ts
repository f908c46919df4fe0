/**
 * Pacer of the calls that one replica makes to the service for a pipeline with `callsPerSecond`.
 * Each replica has the part of the rate that belongs to its shards, and each shard has one owner.
 * An unused part of the rate is lost instead of saved for a burst, so the pipeline never makes more
 * calls in a second than the rate plus one per shard.
 */
import { abortable } from '../../../packages/client/src/base/abortable.ts';
import type { Clock } from '../../../packages/client/src/base/clock.ts';

/** Wait in ms after which the pacer counts as delaying a call. */
const DELAYED_MS = 1_000;

/** Call that waits for its turn. */
interface Waiting {
  readonly sinceMs: number;
  readonly go: () => void;
}

export class CallPacer {
  #perMs: number;
  readonly #clock: Clock;
  /** Fraction of the pipeline's shards that this replica owns, from 0 to 1. */
  #share = 0;
  /** Fraction of the next call that the rate had allowed at `#atMs`, from 0 to 1. */
  #credit = 0;
  #atMs = 0;
  readonly #line = new Set<Waiting>();
  #cancelTimer: () => void = () => {};

  constructor(perSecond: number, clock: Clock) {
    this.#perMs = perSecond / 1_000;
    this.#clock = clock;
  }

  /** Changes the rate of the pipeline's calls. */
  change(perSecond: number): void {
    this.#accrue();
    this.#perMs = perSecond / 1_000;
    this.#serve();
  }

  /** True while the first waiting call has waited for at least a second. */
  get isDelaying(): boolean {
    const [first] = this.#line;
    return first !== undefined && this.#clock.monotonic() - first.sinceMs >= DELAYED_MS;
  }

  /** Adds the share of a claimed shard. Removes it when `signal` is aborted, because the shard is then lost. */
  claimed(share: number, signal: AbortSignal): void {
    // Another replica may have made the call that is due now.
    if (this.#share === 0) this.#credit = 0;
    this.#changeShare(share);
    signal.addEventListener('abort', () => this.#changeShare(-share), { once: true });
  }

  /** Resolves when a call may be made. Calls take their turns in order. @throws the signal's reason */
  async turn(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const { promise, resolve } = Promise.withResolvers<void>();
    const waiting = { sinceMs: this.#clock.monotonic(), go: resolve };
    this.#line.add(waiting);
    this.#serve();
    await abortable(promise, signal).finally(() => this.#line.delete(waiting));
  }

  #changeShare(change: number): void {
    this.#accrue();
    // Without the rounding, a replica without shards might keep a tiny share.
    this.#share = Math.max(0, Math.round((this.#share + change) * 1e9) / 1e9);
    this.#serve();
  }

  #accrue(): void {
    const nowMs = this.#clock.monotonic();
    this.#credit = Math.min(1, this.#credit + (nowMs - this.#atMs) * this.#share * this.#perMs);
    this.#atMs = nowMs;
  }

  #serve(): void {
    this.#accrue();
    this.#cancelTimer();
    const [first] = this.#line;
    if (first === undefined) return;
    if (this.#credit >= 1) {
      this.#credit = 0;
      this.#line.delete(first);
      first.go();
      this.#serve();
    } else if (this.#share > 0) {
      const waitMs = Math.ceil((1 - this.#credit) / (this.#share * this.#perMs));
      this.#cancelTimer = this.#clock.after(waitMs, () => this.#serve());
    }
  }
}

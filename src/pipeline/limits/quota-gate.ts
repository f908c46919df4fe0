/**
 * Gate of a shard with a quota: lets one batch at a time through to the service, until its upload
 * has ended, so that the service never receives more than the quota and one batch per shard.
 */
import pLimit from 'p-limit';
import { abortable } from '../../../packages/client/src/base/abortable.ts';
import type { Clock } from '../../../packages/client/src/base/clock.ts';
import { writeQuota } from '../../core/journal/journal-records.ts';
import { Quota, type QuotaLimits } from '../../core/journal/quota.ts';
import type { ShardState } from '../../core/journal/shard-state.ts';
import type { JournalWrite } from '../../core/ports/kafka.ts';
import { inTurn, type Rank } from './lanes.ts';
import type { ShardWaits } from './shard-waits.ts';

interface GateParts {
  readonly clock: Clock;
  readonly waits: ShardWaits;
  readonly signal: AbortSignal;
  readonly state: ShardState;
}

/** Limits of a pipeline as a whole; undefined where there is none. */
export type QuotaOptions = { readonly [K in keyof QuotaLimits]?: number | undefined };

export class QuotaGate {
  readonly #parts: GateParts;
  readonly #quota: Quota;
  /** Wall clock minus monotonic clock at the claim, ms: steps of the wall clock change nothing. */
  readonly #aheadMs: number;
  readonly #turns: ReturnType<typeof inTurn>;
  #isWaiting = false;
  #look: () => void = () => {};
  #changed: () => void = () => {};

  constructor(limits: QuotaLimits, parts: GateParts) {
    const { clock, state } = parts;
    this.#parts = parts;
    this.#aheadMs = clock.now() - clock.monotonic();
    this.#quota = new Quota(limits, clock.now(), state.quota);
    // Which batch is next is decided when there is room for one.
    this.#turns = inTurn(pLimit(1), () => this.#untilRoomFor(1));
  }

  /** Largest batch, rows. */
  get maxRows(): number {
    return this.#quota.maxRows;
  }

  /** True while the quota is used up and a batch waits for it. */
  get isWaiting(): boolean {
    return this.#isWaiting;
  }

  /** Calls `changed` whenever `isWaiting` has changed. */
  listen(changed: () => void): void {
    this.#changed = changed;
  }

  /** Rows left, and the end of the day, wall clock, ms. */
  get left(): QuotaLimits & { readonly dayEndsMs: number } {
    const nowMs = this.#nowMs;
    const left = this.#quota.left(this.#parts.state.unsettled, nowMs);
    return { ...left, dayEndsMs: this.#quota.dayEndsMs(nowMs) };
  }

  /** Submits a batch by `submit` when the quota has room for its rows. */
  admit<T>(rank: Rank, rows: number, submit: () => Promise<T>): Promise<T> {
    return this.#turns(async () => {
      // Records of a job are under review already.
      await this.#untilRoomFor(rows, rank.isRetry);
      return await submit();
    }, rank);
  }

  /** Counts a batch that is being submitted. @returns the record for the same transaction */
  spend(rows: number): JournalWrite {
    return writeQuota(this.#quota.spend(rows, this.#nowMs));
  }

  /** To be called when records were settled. */
  look(): void {
    this.#look();
  }

  get #nowMs(): number {
    return this.#parts.clock.monotonic() + this.#aheadMs;
  }

  async #untilRoomFor(rows: number, isRetry = false): Promise<void> {
    const { clock, signal, state, waits } = this.#parts;
    while (!signal.aborted) {
      const underReview = isRetry ? 0 : state.unsettled;
      const waitMs = this.#quota.waitMs(rows, underReview, this.#nowMs);
      if (waitMs === 0) break;
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#look = resolve;
      const cancel = waitMs === Infinity ? () => {} : clock.after(waitMs, resolve);
      this.#setWaiting(true);
      // A lost shard waits no longer; what comes next looks at the signal.
      const renewed = abortable(promise, signal).catch(() => undefined);
      await waits.while('quota', renewed).finally(cancel);
    }
    this.#setWaiting(false);
  }

  #setWaiting(isWaiting: boolean): void {
    if (this.#isWaiting === isWaiting) return;
    this.#isWaiting = isWaiting;
    this.#changed();
  }
}

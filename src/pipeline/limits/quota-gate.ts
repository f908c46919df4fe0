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
import { earliest } from './in-flight.ts';
import { inTurn, type Lane, type Rank } from './lanes.ts';
import type { ShardWaits } from './shard-waits.ts';

/** Batches of a lane that may wait with their bodies in memory. */
const MAX_WAITING = 2;
/** Longest wait for the rows of a minute, ms. */
const LONGEST_MINUTE_MS = 61_000;

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
  /** Number of batches that wait, by lane. */
  readonly #waiting = new Map<Lane, number>();
  readonly #forRoom = new Set<() => void>();
  #isWaiting = false;
  #look: () => void = () => {};
  #changed: () => void = () => {};

  constructor(limits: QuotaLimits, parts: GateParts) {
    const { clock, state } = parts;
    this.#parts = parts;
    this.#aheadMs = clock.now() - clock.monotonic();
    this.#quota = new Quota(limits, clock.now(), state.quota);
    this.#turns = inTurn(pLimit(1), (ranked) => this.#choose(ranked));
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

  /** Rows that may still be submitted. */
  get left(): QuotaLimits {
    return this.#quota.left(this.#nowMs);
  }

  /** True if few batches of the lane wait: each of them holds memory. */
  hasRoomFor(lane: Lane): boolean {
    return (this.#waiting.get(lane) ?? 0) < MAX_WAITING;
  }

  /** Resolves when few batches of the lane wait, or the shard is lost. */
  async roomFor(lane: Lane): Promise<void> {
    const { signal } = this.#parts;
    while (!this.hasRoomFor(lane) && !signal.aborted) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#forRoom.add(resolve);
      await abortable(promise, signal).catch(() => undefined);
      this.#forRoom.delete(resolve);
    }
  }

  /** Submits a batch by `submit` when the quota has room for its rows. */
  async admit<T>(rank: Rank, submit: () => Promise<T>): Promise<T> {
    const count = (change: number) =>
      this.#waiting.set(rank.lane, (this.#waiting.get(rank.lane) ?? 0) + change);
    count(1);
    const admitted = this.#turns(() => {
      count(-1);
      for (const look of this.#forRoom) look();
      return submit();
    }, rank);
    this.#look();
    return await admitted;
  }

  /** Counts a batch that is being submitted. @returns the record for the same transaction */
  spend(rows: number): JournalWrite {
    return writeQuota(this.#quota.spend(rows, this.#nowMs));
  }

  get #nowMs(): number {
    return this.#parts.clock.monotonic() + this.#aheadMs;
  }

  /**
   * Chooses the first in rank. If that must wait for the next day, chooses a batch that fits into
   * what is left of the present one.
   */
  async #choose(ranked: readonly Rank[]): Promise<Rank | undefined> {
    const { clock, signal, waits } = this.#parts;
    // What a lost shard runs next looks at the signal.
    if (signal.aborted) return ranked[0];
    const waitsMs = ranked.map(({ rows }) => this.#quota.waitMs(rows, this.#nowMs));
    const [firstMs = 0] = waitsMs;
    const next = firstMs <= LONGEST_MINUTE_MS ? 0 : waitsMs.indexOf(0);
    this.#setWaiting(waitsMs[next] !== 0);
    if (!this.#isWaiting) return ranked[next];
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#look = resolve;
    const cancel = clock.after(next === 0 ? firstMs : earliest(waitsMs), resolve);
    const changed = abortable(promise, signal).catch(() => undefined);
    await waits.while('quota', changed).finally(cancel);
    return undefined;
  }

  #setWaiting(isWaiting: boolean): void {
    if (this.#isWaiting === isWaiting) return;
    this.#isWaiting = isWaiting;
    this.#changed();
  }
}

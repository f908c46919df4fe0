/**
 * Gate of a shard with a quota. Lets one batch at a time through to the service, for one upload
 * attempt. Each further attempt needs another turn and is counted again. The service therefore
 * never receives more than the quota plus one batch per shard, however long an upload is delayed.
 *
 * A batch that would have to wait for longer than a minute is parked, and is reread once the gate
 * can take it. Parking frees its memory for retries, because the batch may be waiting for reviews
 * that the retries end.
 */
import pLimit from 'p-limit';
import { abortable } from '../../../packages/client/src/base/abortable.ts';
import type { Clock } from '../../../packages/client/src/base/clock.ts';
import { writeQuota } from '../../core/journal/journal-records.ts';
import { Quota, type QuotaLimits } from '../../core/journal/quota.ts';
import type { ShardState } from '../../core/journal/shard-state.ts';
import type { JournalWrite } from '../../core/ports/kafka.ts';
import { Conditions } from './conditions.ts';
import { inTurn, type Lane, type Lanes, type Rank } from './lanes.ts';
import type { ShardWaits } from './shard-waits.ts';

/** Maximum number of batches of a lane that wait with their bodies in memory. */
const MAX_WAITING = 2;
/** Longest wait in ms that the limit per minute can cause. */
const LONGEST_MINUTE_MS = 61_000;
/** Time in ms after which parked batches are checked even if no batch was admitted or settled. */
const NEXT_PARKED_MS = 1_000;

interface GateParts {
  readonly clock: Clock;
  readonly lanes: Lanes;
  readonly waits: ShardWaits;
  readonly signal: AbortSignal;
  readonly state: ShardState;
}

/** Limits of a whole pipeline. undefined where there is none. `CallPacer` enforces `callsPerSecond`. */
export type QuotaOptions = {
  readonly [K in keyof QuotaLimits | 'callsPerSecond']?: number | undefined;
};

/** Numbers of rows that may still be submitted, and the times in ms until more rows are free, by limit. */
export interface QuotaLeft extends QuotaLimits {
  readonly renewsMs: QuotaLimits;
}

export class QuotaGate {
  readonly #parts: GateParts;
  readonly #quota: Quota;
  /** Wall clock minus monotonic clock at the claim, in ms. Later steps of the wall clock have no effect. */
  readonly #aheadMs: number;
  readonly #turns: ReturnType<typeof inTurn>;
  readonly #parkedTurns: ReturnType<typeof inTurn>;
  /** Number of waiting batches, whose rows are in memory, and number of parked batches, by lane. */
  readonly #waiting = new Map<Lane, number>();
  readonly #parked = new Map<Lane, number>();
  readonly #room = new Conditions();
  #isUsedUp = false;
  /** Time at which rows were last counted. */
  #spentMs = 0;
  #wasWaiting = false;
  #look: () => void = () => {};
  #lookParked: () => void = () => {};
  #changed: () => void = () => {};

  constructor(limits: QuotaLimits, parts: GateParts) {
    const { clock, state } = parts;
    this.#parts = parts;
    this.#aheadMs = clock.now() - clock.monotonic();
    this.#quota = new Quota(limits, clock.now(), state.quota);
    this.#turns = inTurn(pLimit(1), (ranked) => this.#choose(ranked));
    this.#parkedTurns = inTurn(pLimit(1), (ranked) => this.#chooseParked(ranked));
  }

  /** Maximum number of rows in a batch. */
  get maxRows(): number {
    return this.#quota.maxRows(Math.min(...this.#parts.lanes.all.map(({ share }) => share)));
  }

  /** True while the quota is used up and a batch waits for it. */
  get isWaiting(): boolean {
    return this.#isUsedUp || [...this.#parked.values()].some((parked) => parked > 0);
  }

  /** Changes the limits, also for the batches that wait. */
  change(limits: QuotaLimits): void {
    this.#quota.limits = limits;
    this.#look();
  }

  /** Calls `changed` whenever `isWaiting` has changed. */
  listen(changed: () => void): void {
    this.#changed = changed;
  }

  get left(): QuotaLeft {
    const nowMs = this.#nowMs;
    const left = this.#quota.left(nowMs, this.#parts.state.unsettled);
    return { ...left, renewsMs: this.#quota.renewsMs(nowMs) };
  }

  /** True if no batch of the lane is parked and few are waiting, because waiting batches hold memory. */
  hasRoomFor(lane: Lane): boolean {
    return this.#hasTurnFor(lane) && (this.#parked.get(lane) ?? 0) === 0;
  }

  /** Resolves when there is room for the lane. @throws the reason of the shard's end */
  roomFor(lane: Lane): Promise<void> {
    return this.#room.until(() => this.hasRoomFor(lane), this.#parts.signal);
  }

  /**
   * Calls `submit` when the quota has room for the batch's rows.
   * @returns undefined if that would take longer than a minute; the batch must then be parked
   */
  async admit<T>(rank: Rank, submit: () => Promise<T>): Promise<T | undefined> {
    this.#count(this.#waiting, rank.lane, 1);
    const admitted = this.#turns(async () => {
      this.#count(this.#waiting, rank.lane, -1);
      const hasRoom = this.#parts.signal.aborted || this.#waitMs(rank) === 0;
      return hasRoom ? await submit() : undefined;
    }, rank);
    this.#look();
    return await admitted.finally(() => this.#lookParked());
  }

  /**
   * Resolves when the gate can take a parked batch, or the shard is lost.
   * @param ready resolves when nothing except the quota prevents the submission
   */
  async readmit(rank: Rank, ready: Promise<void>): Promise<void> {
    this.#count(this.#parked, rank.lane, 1);
    await ready;
    await this.#parkedTurns(async () => this.#count(this.#parked, rank.lane, -1), rank);
  }

  /** Counts a batch whose upload follows in the same turn. @returns the record for the journal */
  spend(rows: number): JournalWrite {
    this.#spentMs = this.#nowMs;
    return writeQuota(this.#quota.spend(rows, this.#spentMs));
  }

  /** Takes back the rows of the current turn, because their upload has failed and can no longer arrive. */
  takeBack(rows: number): void {
    this.#quota.takeBack(rows, this.#spentMs);
  }

  /** Must be called when records have been settled. */
  settled(): void {
    this.#lookParked();
  }

  get #nowMs(): number {
    return this.#parts.clock.monotonic() + this.#aheadMs;
  }

  /** Chooses a batch that must be parked. If there is none, chooses the first in rank once its rows are free. */
  async #choose(ranked: readonly Rank[]): Promise<Rank | undefined> {
    // After the shard is lost, the task that runs next checks the signal.
    if (this.#parts.signal.aborted) return ranked[0];
    const parked = ranked.find((rank) => this.#waitMs(rank) > LONGEST_MINUTE_MS);
    const [first] = ranked as [Rank];
    const waitMs = parked === undefined ? this.#waitMs(first) : 0;
    this.#isUsedUp = waitMs > 0;
    this.#report();
    if (!this.#isUsedUp) return parked ?? first;
    await this.#until(waitMs, (look) => {
      this.#look = look;
    });
    return undefined;
  }

  /**
   * Chooses only the first parked batch that the gate can take. If all were chosen, all would be
   * reread although there is room for only one.
   */
  async #chooseParked(ranked: readonly Rank[]): Promise<Rank | undefined> {
    await this.#until(NEXT_PARKED_MS, (look) => {
      this.#lookParked = look;
    });
    if (this.#parts.signal.aborted) return ranked[0];
    // The batch then takes its turn at the gate, so that each lane has its share of each minute.
    return ranked.find(
      (rank) => this.#hasTurnFor(rank.lane) && this.#waitMs(rank) <= LONGEST_MINUTE_MS,
    );
  }

  /** Waits until the function that `wake` receives is called, but at most for `mostMs`. */
  async #until(mostMs: number, wake: (look: () => void) => void): Promise<void> {
    const { clock, signal, waits } = this.#parts;
    const { promise, resolve } = Promise.withResolvers<void>();
    wake(resolve);
    const cancel = clock.after(mostMs, resolve);
    const changed = abortable(promise, signal).catch(() => undefined);
    await waits.while('quota', changed).finally(cancel);
  }

  #waitMs({ lane, isRetry, rows }: Rank): number {
    // Records of a retry are under review already.
    const review = isRetry ? undefined : { rows: this.#underReview(lane), share: lane.share };
    return this.#quota.waitMs(rows, this.#nowMs, review);
  }

  #underReview(lane: Lane): number {
    const { lanes, state } = this.#parts;
    if (this.#quota.limits.rowsUnderReview === Infinity) return 0;
    if (!lanes.areSeveral) return state.unsettled;
    const jobs = [...state.jobs.values()].filter(({ record }) => lanes.named(record.lane) === lane);
    return jobs.reduce((sum, { left }) => sum + left.size, 0);
  }

  #hasTurnFor(lane: Lane): boolean {
    return (this.#waiting.get(lane) ?? 0) < MAX_WAITING;
  }

  #count(batches: Map<Lane, number>, lane: Lane, change: number): void {
    batches.set(lane, (batches.get(lane) ?? 0) + change);
    if (change < 0) this.#room.look();
    this.#report();
  }

  #report(): void {
    if (this.#wasWaiting === this.isWaiting) return;
    this.#wasWaiting = this.isWaiting;
    this.#changed();
  }
}

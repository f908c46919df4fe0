/**
 * Gate of a shard with a quota: lets one batch at a time through to the service, for one attempt to
 * upload it. Each further attempt is counted again in a turn of its own, so that the service never
 * receives more than the quota and one batch per shard, whatever delays an upload has.
 *
 * A batch that would wait for longer than a minute of the quota gives its memory up, since retries,
 * which end the reviews that it may wait for, need memory too. It is parked, and read again when
 * the gate can take it.
 */
import pLimit from 'p-limit';
import { abortable } from '../../../packages/client/src/base/abortable.ts';
import type { Clock } from '../../../packages/client/src/base/clock.ts';
import { writeQuota } from '../../core/journal/journal-records.ts';
import { Quota, type QuotaLimits } from '../../core/journal/quota.ts';
import type { ShardState } from '../../core/journal/shard-state.ts';
import type { JournalWrite } from '../../core/ports/kafka.ts';
import { inTurn, type Lane, type Lanes, type Rank } from './lanes.ts';
import type { ShardWaits } from './shard-waits.ts';

/** Batches of a lane that may wait with their bodies in memory. */
const MAX_WAITING = 2;
/** Longest wait for the rows of a minute, ms. */
const LONGEST_MINUTE_MS = 61_000;
/** Time after which the next parked batch may go even if nothing has happened to the last one. */
const NEXT_PARKED_MS = 1_000;

interface GateParts {
  readonly clock: Clock;
  readonly lanes: Lanes;
  readonly waits: ShardWaits;
  readonly signal: AbortSignal;
  readonly state: ShardState;
}

/** Limits of a pipeline as a whole; undefined where there is none. `CallPacer` has the calls. */
export type QuotaOptions = {
  readonly [K in keyof QuotaLimits | 'callsPerSecond']?: number | undefined;
};

/** Rows that may still be submitted, and the time until more rows of each limit are free, ms. */
export interface QuotaLeft extends QuotaLimits {
  readonly renewsMs: QuotaLimits;
}

export class QuotaGate {
  readonly #parts: GateParts;
  readonly #quota: Quota;
  /** Wall clock minus monotonic clock at the claim, ms: steps of the wall clock change nothing. */
  readonly #aheadMs: number;
  readonly #turns: ReturnType<typeof inTurn>;
  readonly #parkedTurns: ReturnType<typeof inTurn>;
  /** Numbers of batches by lane: those that wait with their rows in memory, and parked ones. */
  readonly #waiting = new Map<Lane, number>();
  readonly #parked = new Map<Lane, number>();
  readonly #forRoom = new Set<() => void>();
  #isUsedUp = false;
  /** Time of the last count. */
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

  /** Largest batch, rows. */
  get maxRows(): number {
    return this.#quota.maxRows(Math.min(...this.#parts.lanes.all.map(({ share }) => share)));
  }

  /** True while the quota is used up and a batch waits for it. */
  get isWaiting(): boolean {
    return this.#isUsedUp || [...this.#parked.values()].some((parked) => parked > 0);
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

  /** True if no batch of the lane is parked, and few wait: each of them holds memory. */
  hasRoomFor(lane: Lane): boolean {
    return this.#hasTurnFor(lane) && (this.#parked.get(lane) ?? 0) === 0;
  }

  /** Resolves when there is room for the lane, or the shard is lost. */
  async roomFor(lane: Lane): Promise<void> {
    const { signal } = this.#parts;
    while (!this.hasRoomFor(lane) && !signal.aborted) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#forRoom.add(resolve);
      await abortable(promise, signal).catch(() => undefined);
      this.#forRoom.delete(resolve);
    }
  }

  /**
   * Submits a batch by `submit` when the quota has room for its rows.
   * @returns undefined if that takes longer than a minute: the batch must be parked
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
   * @param ready resolves when the batch may be submitted otherwise
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

  /** Takes back the rows of the present turn: their upload has failed, and cannot arrive any more. */
  takeBack(rows: number): void {
    this.#quota.takeBack(rows, this.#spentMs);
  }

  /** To be called when records were settled. */
  settled(): void {
    this.#lookParked();
  }

  get #nowMs(): number {
    return this.#parts.clock.monotonic() + this.#aheadMs;
  }

  /** Chooses a batch that must be parked; if there is none, the first in rank when its rows are free. */
  async #choose(ranked: readonly Rank[]): Promise<Rank | undefined> {
    // What a lost shard runs next looks at the signal.
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
   * Chooses the first parked batch that the gate can take; one at a time, so that not all of them
   * are read again for the room of one.
   */
  async #chooseParked(ranked: readonly Rank[]): Promise<Rank | undefined> {
    await this.#until(NEXT_PARKED_MS, (look) => {
      this.#lookParked = look;
    });
    if (this.#parts.signal.aborted) return ranked[0];
    // It takes its turn at the gate, so that lanes have their shares of each minute.
    return ranked.find(
      (rank) => this.#hasTurnFor(rank.lane) && this.#waitMs(rank) <= LONGEST_MINUTE_MS,
    );
  }

  /** Waits until the function that `wake` receives is called; at most for a time. */
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
    if (change < 0) for (const look of this.#forRoom) look();
    this.#report();
  }

  #report(): void {
    if (this.#wasWaiting === this.isWaiting) return;
    this.#wasWaiting = this.isWaiting;
    this.#changed();
  }
}

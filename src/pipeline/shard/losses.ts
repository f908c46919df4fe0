/**
 * Losses of one shard in this process. They determine the delay before the next claim. If the shard
 * is lost repeatedly at the same position, they show where and why.
 */
import { fullJitterMs } from '../../../packages/client/src/base/backoff.ts';
import type { Random } from '../../../packages/client/src/base/clock.ts';
import { classOf } from '../../core/outcome/internal-error.ts';
import { placeOf, type SourceCoordinate } from '../../core/record.ts';
import { describe, isOfTheLanguage, shortly } from '../context/errors.ts';
import type { ShardWorker } from './worker.ts';

const RECLAIM = { baseMs: 200, capMs: 8_000 };
/** Backoff after repeated exceptions of the connector's code at one position, which no outage can explain. */
const SLOW_RECLAIM = { ...RECLAIM, capMs: 60_000 };
/** Time as owner after which the next loss starts a new series. */
const FORGIVE_AFTER_MS = 30_000;

/** Number of losses at the same position that count as repeated. */
const REPEATED = 3;
/** Time as owner after which earlier losses are forgotten, even if the position has not advanced. */
const WELL_AFTER_MS = 120_000;
/** Value of WELL_AFTER_MS for an owner that has no records in flight and no lag. */
const IDLE_AFTER_MS = 10_000;
/** Maximum number of positions that a message lists. */
const MAX_NAMED = 3;

export class Losses {
  #places: readonly SourceCoordinate[] = [];
  #class = '';
  #error: unknown;
  #times = 0;
  /** Start of the current ownership in ms (monotonic clock). undefined if this process is not the owner. */
  #ownedSinceMs: number | undefined;
  /** Number of consecutive failed claims. */
  failures = 0;

  /** Returns the wait before the next claim in ms. @param error reason of the loss */
  nextClaimMs(error: unknown, random: Random): number {
    const pace = this.#times >= REPEATED && isOfTheLanguage(error) ? SLOW_RECLAIM : RECLAIM;
    return fullJitterMs(this.failures++, pace, random);
  }

  /** Updates the losses according to the shard's current worker. */
  look(worker: ShardWorker | undefined, nowMs: number): void {
    const owned = worker?.owned;
    this.#ownedSinceMs = owned && (this.#ownedSinceMs ?? nowMs);
    if (owned === undefined || this.#ownedSinceMs === undefined) return;
    const forMs = nowMs - this.#ownedSinceMs;
    if (forMs >= FORGIVE_AFTER_MS) this.failures = 0;
    const { intake, shard } = owned;
    const idle = owned.unsettled === 0 && intake.lag === 0;
    this.owned(forMs, idle, (one) => shard.state.partitions.get(one)?.watermark);
  }

  /** Registers a loss. @param places position of intake, or the watermarks; empty if the loss was during a claim */
  lost(places: readonly SourceCoordinate[], error: unknown): void {
    // The next owner may begin before the next call of `look`.
    this.#ownedSinceMs = undefined;
    const same = classOf(error) === this.#class && keyOf(places) === keyOf(this.#places);
    this.#times = same ? this.#times + 1 : 1;
    this.#places = places;
    this.#class = classOf(error);
    this.#error = error;
  }

  /** @param idle true if there are no records in flight and no lag @param watermarkOf returns W of a partition */
  owned(
    forMs: number,
    idle: boolean,
    watermarkOf: (partition: number) => number | undefined,
  ): void {
    const moved = this.#places.some(
      ({ partition, offset }) => (watermarkOf(partition) ?? offset) > offset,
    );
    if (moved || forMs >= (idle ? IDLE_AFTER_MS : WELL_AFTER_MS)) this.#forget();
  }

  /** Forgets all losses because the shard was given up on purpose. */
  forgive(): void {
    this.#forget();
    this.failures = 0;
  }

  #forget(): void {
    this.#times = 0;
    this.#class = '';
  }

  /** Log fields about repeated losses. undefined if there are none. */
  get fields(): object | undefined {
    if (this.#times < REPEATED) return undefined;
    const place = this.#places.length === 1 ? this.#places[0] : { positions: this.#named };
    return { ...place, times: this.#times, error: describe(this.#error) };
  }

  /** Message about repeated losses with their positions, number and cause. undefined if there are none. */
  get text(): string | undefined {
    if (this.#times < REPEATED) return undefined;
    const named = this.#named;
    const what = named === '' ? 'cannot be claimed' : `is lost repeatedly at ${named}`;
    return `${what} (${this.#times} times): ${shortly(this.#error)}`;
  }

  get #named(): string {
    const named = this.#places
      .slice(0, MAX_NAMED)
      .map(({ partition, offset }) => `partition ${partition}, offset ${offset}`);
    if (this.#places.length > MAX_NAMED) named.push('…');
    return named.join('; ');
  }
}

const keyOf = (places: readonly SourceCoordinate[]): string => places.map(placeOf).join();

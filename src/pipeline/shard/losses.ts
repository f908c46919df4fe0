/** Losses of one shard in this process: when it is claimed next; whether that gets nowhere again and again, where, and why. */
import { fullJitterMs } from '../../base/backoff.ts';
import type { Random } from '../../base/clock.ts';
import { classOf } from '../../core/outcome/internal-error.ts';
import type { SourceCoordinate } from '../../core/record.ts';
import { describe, isOfTheLanguage, shortly } from '../context/errors.ts';
import type { ShardWorker } from './worker.ts';

const RECLAIM = { baseMs: 200, capMs: 15_000 };
/** For a shard that is lost again and again at the same position by an exception of the code, which no outage explains. */
const SLOW_RECLAIM = { ...RECLAIM, capMs: 60_000 };
/** After this long as owner, a loss is the first of a new series. */
const FORGIVE_AFTER_MS = 30_000;

/** So many losses at the same position are no coincidence. */
const AGAIN_AND_AGAIN = 3;
/** A shard that was kept for this long is well, though its position has not moved: there may be nothing to read. */
const WELL_AFTER_MS = 120_000;
/** An owner with nothing in hand and nothing to read has passed whatever failed. */
const IDLE_AFTER_MS = 10_000;
/** Positions that a text names. */
const MAX_NAMED = 3;

export class Losses {
  #places: readonly SourceCoordinate[] = [];
  #class = '';
  #error: unknown;
  #times = 0;
  /** Claims that failed in a row. */
  #failures = 0;
  /** On the monotonic clock, ms: since when its worker owns the shard. */
  #ownedSinceMs: number | undefined;

  get failures(): number {
    return this.#failures;
  }

  /** How long to wait before the next claim, ms. @param error why it is due */
  nextClaimMs(error: unknown, random: Random): number {
    const pace = this.#times >= AGAIN_AND_AGAIN && isOfTheLanguage(error) ? SLOW_RECLAIM : RECLAIM;
    return fullJitterMs(this.#failures++, pace, random);
  }

  /** Looks at the present worker of the shard. */
  look(worker: ShardWorker | undefined, nowMs: number): void {
    const owned = worker?.owned;
    this.#ownedSinceMs = owned && (this.#ownedSinceMs ?? nowMs);
    if (owned === undefined || this.#ownedSinceMs === undefined) return;
    const forMs = nowMs - this.#ownedSinceMs;
    if (forMs >= FORGIVE_AFTER_MS) this.#failures = 0;
    const { intake, shard } = owned;
    const idle = shard.unsettled === 0 && intake.lag === 0;
    this.owned(forMs, idle, (one) => shard.state.partitions.get(one)?.watermark);
  }

  /** The shard was lost. @param places where it stood: of the partition that intake was taking, or of all; none when it was lost in its claim */
  lost(places: readonly SourceCoordinate[], error: unknown): void {
    const same = classOf(error) === this.#class && samePlaces(places, this.#places);
    this.#times = same ? this.#times + 1 : 1;
    this.#places = places;
    this.#class = classOf(error);
    this.#error = error;
  }

  /** It is owned again. @param idle nothing is in hand, and nothing is left to read. @param watermarkOf W of a partition */
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

  /** Forgets all of them: the shard was given up. */
  forgive(): void {
    this.#forget();
    this.#failures = 0;
  }

  #forget(): void {
    this.#times = 0;
    this.#class = '';
  }

  /** Fields of a log line, when it is lost again and again. */
  get fields(): object | undefined {
    if (this.#times < AGAIN_AND_AGAIN) return undefined;
    const [first, ...more] = this.#places;
    const place = more.length === 0 ? first : { positions: this.#named };
    return { ...place, times: this.#times, error: describe(this.#error) };
  }

  /** For people, when it is lost again and again: at which positions, how often and why. */
  get text(): string | undefined {
    if (this.#times < AGAIN_AND_AGAIN) return undefined;
    const what =
      this.#places.length === 0
        ? 'cannot be claimed'
        : `is claimed again and again at ${this.#named}`;
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

const samePlaces = (a: readonly SourceCoordinate[], b: readonly SourceCoordinate[]): boolean =>
  a.length === b.length &&
  a.every(
    ({ partition, offset }, index) =>
      b[index]?.partition === partition && b[index]?.offset === offset,
  );

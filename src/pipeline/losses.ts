/** Losses of one shard in this process: whether it is claimed again and again without getting anywhere, where, and why. */
import { classOf } from '../core/internal-error.ts';
import type { SourceCoordinate } from '../core/record.ts';
import { describe, shortly } from './errors.ts';

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

  /** The shard was lost. @param places where it stood: of the partition that intake was taking, or of all; none when it was lost in its claim */
  lost(places: readonly SourceCoordinate[], error: unknown): void {
    const same = classOf(error) === this.#class && samePlaces(places, this.#places);
    this.#times = same ? this.#times + 1 : 1;
    this.#places = places;
    this.#class = classOf(error);
    this.#error = error;
  }

  /** It is owned again. @param idle nothing is in hand, and nothing is left to read. @param watermarkOf W of a partition */
  owned(forMs: number, idle: boolean, watermarkOf: (partition: number) => number | undefined): void {
    const moved = this.#places.some(({ partition, offset }) => (watermarkOf(partition) ?? offset) > offset);
    if (moved || forMs >= (idle ? IDLE_AFTER_MS : WELL_AFTER_MS)) this.forget();
  }

  forget(): void {
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
    const what = this.#places.length === 0 ? 'cannot be claimed' : `is claimed again and again at ${this.#named}`;
    return `${what} (${this.#times} times): ${shortly(this.#error)}`;
  }

  get #named(): string {
    const named = this.#places.slice(0, MAX_NAMED).map(({ partition, offset }) => `partition ${partition}, offset ${offset}`);
    if (this.#places.length > MAX_NAMED) named.push('…');
    return named.join('; ');
  }
}

const samePlaces = (a: readonly SourceCoordinate[], b: readonly SourceCoordinate[]): boolean =>
  a.length === b.length &&
  a.every(({ partition, offset }, index) => b[index]?.partition === partition && b[index]?.offset === offset);

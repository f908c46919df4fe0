/** Losses of one shard in this process: the pace of its claims, and what is known about repeated ones. */
import { fullJitterMs } from '../../../packages/client/src/base/backoff.ts';
import type { Random } from '../../../packages/client/src/base/clock.ts';
import type { SourceCoordinate } from '../../core/record.ts';
import { describe, isOfTheLanguage, shortly } from '../context/errors.ts';
import type { OwnedShard } from './owned-shard.ts';

const RECLAIM = { baseMs: 200, capMs: 8_000 };
/** Pace after exceptions of the code, which no outage explains. */
const SLOW_RECLAIM = { ...RECLAIM, capMs: 60_000 };
/** A loss after this long as owner is the first of a new series: longer than any one transaction. */
const FORGIVE_AFTER_MS = 120_000;
/** The same for an owner without records in flight and without lag. */
const FORGIVE_IDLE_AFTER_MS = 10_000;
/** Losses in a row that count as repeated. */
const REPEATED = 3;

export class Losses {
  #error: unknown;
  #place: SourceCoordinate | undefined;
  /** Monotonic clock, ms: start of the present ownership. */
  #ownedSinceMs: number | undefined;
  /** Losses and failed claims in a row. */
  failures = 0;

  /** @param place position of intake, if that failed */
  lost(error: unknown, place?: SourceCoordinate): void {
    this.failures++;
    this.#error = error;
    this.#place = place;
  }

  /** Returns the wait before the next claim, ms. */
  nextClaimMs(random: Random): number {
    const isSlow = this.isRepeated && isOfTheLanguage(this.#error);
    return fullJitterMs(this.failures - 1, isSlow ? SLOW_RECLAIM : RECLAIM, random);
  }

  /** Forgets the losses of a shard that has been owned for long. Called every second. */
  look(owned: Pick<OwnedShard, 'isIdle'> | undefined, nowMs: number): void {
    this.#ownedSinceMs = owned && (this.#ownedSinceMs ?? nowMs);
    if (owned === undefined || this.#ownedSinceMs === undefined) return;
    const forgiveAfterMs = owned.isIdle ? FORGIVE_IDLE_AFTER_MS : FORGIVE_AFTER_MS;
    if (nowMs - this.#ownedSinceMs >= forgiveAfterMs) this.forgive();
  }

  forgive(): void {
    this.failures = 0;
  }

  /** True after several losses in a row. */
  get isRepeated(): boolean {
    return this.failures >= REPEATED;
  }

  /** Fields of a log line about the newest loss. */
  get fields(): object {
    return { ...this.#place, failures: this.failures, error: describe(this.#error) };
  }

  /** Text about repeated losses: how often, where and why. */
  get text(): string | undefined {
    if (!this.isRepeated) return undefined;
    const { partition, offset } = this.#place ?? {};
    const where = partition === undefined ? '' : ` at partition ${partition}, offset ${offset}`;
    return `was lost or not claimed ${this.failures} times in a row${where}: ${shortly(this.#error)}`;
  }
}

/**
 * Limit on content types in use, over all shards of a pipeline: each costs calls of the service and
 * a batch of its own, however few its records are, and any producer can invent one.
 */
import type { ShardState } from '../../core/journal/shard-state.ts';
import type { Poison } from '../../core/record.ts';

/** Time without a new batch after which a type is no longer in use. */
export const UNUSED_MS = 3_600_000;

export class TypeLimit {
  readonly #most: number;
  readonly #refusal: Poison;
  /** Time of the latest batch of each type, the oldest first. */
  readonly #usedMs = new Map<string, number>();

  constructor(most: number) {
    this.#most = most;
    const message = `more than ${most} content types are in use: list the types in source.types`;
    this.#refusal = { reason: 'too_many_types', message };
  }

  /** Counts the types of batches that an earlier owner created as used, also beyond the limit. */
  recovered({ jobs }: Pick<ShardState, 'jobs'>, nowMs: number): void {
    for (const { record } of jobs.values()) this.#use(record.type, nowMs);
  }

  /** Takes note of a new batch of a type. @returns the poison of its record if there must be none */
  refusal(type: string, nowMs: number): Poison | undefined {
    if (!this.#usedMs.has(type) && !this.#hasRoom(nowMs)) return this.#refusal;
    this.#use(type, nowMs);
    return undefined;
  }

  #use(type: string, nowMs: number): void {
    this.#usedMs.delete(type);
    this.#usedMs.set(type, nowMs);
  }

  #hasRoom(nowMs: number): boolean {
    for (const [type, usedMs] of this.#usedMs) {
      if (nowMs - usedMs < UNUSED_MS) break;
      this.#usedMs.delete(type);
    }
    return this.#usedMs.size < this.#most;
  }
}

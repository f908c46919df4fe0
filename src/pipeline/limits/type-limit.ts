/**
 * Limit on content types, over all shards of a pipeline: each costs calls of the service and
 * a batch of its own, however few its records are, and any producer can invent one.
 */
import type { ShardState } from '../../core/journal/shard-state.ts';
import type { Logger } from '../../core/ports/telemetry.ts';
import type { Poison } from '../../core/record.ts';

/** Part of the limit at which a warning is due. */
const NEAR = 0.8;

export class TypeLimit {
  readonly #most: number;
  readonly #logger: Logger;
  readonly #refusal: Poison;
  /** A type keeps its place, so that invented ones cannot take it while it is not used. */
  readonly #types = new Set<string>();

  constructor(most: number, logger: Logger) {
    this.#most = most;
    this.#logger = logger;
    const message = `more than ${most} content types have had batches: list the types in source.types`;
    this.#refusal = { reason: 'too_many_types', message };
  }

  /** Gives places to the types of batches that an earlier owner created, also beyond the limit. */
  recovered({ jobs }: Pick<ShardState, 'jobs'>): void {
    for (const { record } of jobs.values()) this.#add(record.type);
  }

  /** Takes note of a new batch of a type. @returns the poison of its record if there must be none */
  refusal(type: string): Poison | undefined {
    if (!this.#types.has(type) && this.#types.size >= this.#most) return this.#refusal;
    this.#add(type);
    return undefined;
  }

  #add(type: string): void {
    if (this.#types.has(type)) return;
    const { size } = this.#types.add(type);
    if (size !== Math.ceil(NEAR * this.#most)) return;
    const remedy = 'list the types in source.types';
    this.#logger.warn({ types: size, limit: this.#most, remedy }, 'content types near their limit');
  }
}

/** Counts of decisions, by status and by result. */
export class DecisionTally {
  #successes = 0;
  #errors = 0;
  readonly #results = new Map<string, number>();

  get successes(): number {
    return this.#successes;
  }

  get errors(): number {
    return this.#errors;
  }

  /** Decisions per result; those without one are in none. */
  get results(): ReadonlyMap<string, number> {
    return this.#results;
  }

  add(isError: boolean, result: string | undefined): void {
    if (isError) this.#errors++;
    else this.#successes++;
    if (result !== undefined) this.#results.set(result, (this.#results.get(result) ?? 0) + 1);
  }

  clear(): void {
    this.#successes = 0;
    this.#errors = 0;
    this.#results.clear();
  }
}

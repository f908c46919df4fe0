/** Counts by name, such as the reason of a dead letter. */
export class Counts extends Map<string, number> {
  total = 0;

  add(name: string, times = 1): void {
    this.total += times;
    this.set(name, (this.get(name) ?? 0) + times);
  }

  /** Returns `3 no_type`, `1 not_json`, …, most frequent first. @param shown formats a name */
  listed(shown = (name: string) => name): string[] {
    const sorted = [...this].sort(([, a], [, b]) => b - a);
    return sorted.map(([name, times]) => `${times} ${shown(name)}`);
  }
}

/** Accepts only the first `max` valid names. The number is limited, because names come from outside. */
export class FirstNames {
  readonly #max: number;
  readonly #isName: (text: string) => boolean;
  readonly #known = new Set<string>();

  /** @param isName returns true if a string is a valid name */
  constructor(max: number, isName: (text: string) => boolean) {
    this.#max = max;
    this.#isName = isName;
  }

  /** Returns the name if it is or can be accepted, otherwise undefined. */
  take(name: string): string | undefined {
    if (this.#known.has(name)) return name;
    if (this.#known.size >= this.#max || !this.#isName(name)) return undefined;
    this.#known.add(name);
    return name;
  }

  has(name: string): boolean {
    return this.#known.has(name);
  }
}

/** Limit of the names that others choose: the first few valid ones are known, the rest are not told apart. */
export class FirstNames {
  readonly #max: number;
  readonly #isName: (text: string) => boolean;
  readonly #known = new Set<string>();

  /** @param isName whether a text may become known */
  constructor(max: number, isName: (text: string) => boolean) {
    this.#max = max;
    this.#isName = isName;
  }

  /** Returns the name if it is known or becomes known; otherwise undefined. */
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

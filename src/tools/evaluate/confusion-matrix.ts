/** Confusion matrix of decisions with an expected result, and the figures of its classes. */

/** Result; null: the results beyond the limit, together. */
export type ClassName = string | null;

/** Figures of one class. A figure that is undefined, such as a precision without decisions, is null. */
export interface ClassFigures {
  readonly name: ClassName;
  /** Decisions with this expected result. */
  readonly support: number;
  /** Decisions with this result. */
  readonly decided: number;
  /** Share of `decided` with this expected result; of the rest: null. */
  readonly precision: number | null;
  /** Share of `support` with this result. */
  readonly recall: number | null;
  readonly f1: number | null;
}

export interface EvaluationFigures {
  readonly evaluated: number;
  readonly agreeing: number;
  readonly agreement: number | null;
  /** By support, the largest first. */
  readonly classes: readonly ClassFigures[];
  /** Cells above 0. */
  readonly matrix: readonly {
    readonly expected: ClassName;
    readonly result: ClassName;
    readonly count: number;
  }[];
}

export class ConfusionMatrix {
  /** Decisions by expected result and result. */
  readonly #cells = new Map<ClassName, Map<ClassName, number>>();
  #evaluated = 0;
  #agreeing = 0;

  /** @param agrees whether they are equal, which classes beyond the limit do not show */
  add(expected: ClassName, result: ClassName, agrees: boolean): void {
    let row = this.#cells.get(expected);
    if (row === undefined) {
      row = new Map();
      this.#cells.set(expected, row);
    }
    row.set(result, (row.get(result) ?? 0) + 1);
    this.#evaluated++;
    if (agrees) this.#agreeing++;
  }

  get evaluated(): number {
    return this.#evaluated;
  }

  figures(): EvaluationFigures {
    const matrix = [...this.#cells].flatMap(([expected, row]) =>
      Array.from(row, ([result, count]) => ({ expected, result, count })),
    );
    const names = new Set(matrix.flatMap(({ expected, result }) => [expected, result]));
    const classes = Array.from(names, (name): ClassFigures => {
      const sum = (side: 'expected' | 'result') =>
        matrix.reduce((total, cell) => total + (cell[side] === name ? cell.count : 0), 0);
      const [support, decided] = [sum('expected'), sum('result')];
      const correct = this.#cells.get(name)?.get(name) ?? 0;
      const [precision, recall, f1] =
        name === null
          ? [null, null, null]
          : [
              share(correct, decided),
              share(correct, support),
              share(2 * correct, support + decided),
            ];
      return { name, support, decided, precision, recall, f1 };
    }).sort(byRank);
    const rank = new Map(classes.map(({ name }, at) => [name, at]));
    const rankOf = (name: ClassName) => rank.get(name) ?? 0;
    matrix.sort(
      (a, b) => rankOf(a.expected) - rankOf(b.expected) || rankOf(a.result) - rankOf(b.result),
    );
    return {
      evaluated: this.#evaluated,
      agreeing: this.#agreeing,
      agreement: share(this.#agreeing, this.#evaluated),
      classes,
      matrix,
    };
  }
}

const share = (part: number, whole: number): number | null => (whole === 0 ? null : part / whole);

/** Sorts the rest behind all names. */
function byRank(a: ClassFigures, b: ClassFigures): number {
  if (a.name === null || b.name === null) return Number(a.name === null) - Number(b.name === null);
  return b.support - a.support || b.decided - a.decided || (a.name < b.name ? -1 : 1);
}

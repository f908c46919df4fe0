/** Keys of mappings and indexes of lists, from the top of the document to an option. */
export type Path = readonly (string | number)[];

/** Line and column, both counted from 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** Formats a path, such as `pipelines[0].batch.maxAge`, or `(top level)`. Unusual keys are quoted. */
export function formatPath(path: Path): string {
  const text = path
    .map((step) => {
      if (typeof step === 'number') return `[${step}]`;
      return /^[A-Za-z_][\w-]*$/.test(step) ? `.${step}` : `[${JSON.stringify(step)}]`;
    })
    .join('')
    .replace(/^\./, '');
  return text === '' ? '(top level)' : text;
}

/** Orders paths by name, list entries by index, and an option before the options inside it. */
function comparePaths(one: Path, two: Path): number {
  const differing = one.findIndex((step, index) => step !== two[index]);
  const [a, b] = [one[differing], two[differing]];
  if (a === undefined || b === undefined) return one.length - two.length;
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  return String(a) < String(b) ? -1 : 1;
}

/** One mistake in a configuration. */
export interface ConfigProblem extends Partial<Position> {
  /** Path such as `pipelines[0].batch.maxAge`, or `(top level)`. */
  readonly path: string;
  /** States the value, the allowed values and the remedy. Never contains a secret. */
  readonly message: string;
}

/** Problem whose path has not been formatted yet. */
export interface Finding {
  readonly path: Path;
  readonly message: string;
}

const MAX_LISTED = 100;

/** All problems of a configuration, in the order of the file. The message lists the first 100. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly file: string;
  readonly problems: readonly ConfigProblem[];
  constructor(file: string, problems: readonly ConfigProblem[]) {
    // In the form file:12:5, editors recognise the position as a link.
    const lines = problems
      .slice(0, MAX_LISTED)
      .map(({ path, message, line, column }) =>
        line === undefined
          ? `  ${path}: ${message}`
          : `  ${file}:${line}:${column}  ${path}: ${message}`,
      );
    const more = problems.length - lines.length;
    if (more > 0) lines.push(`  and ${more} more`);
    const count = `${problems.length} problem${problems.length === 1 ? '' : 's'}`;
    super([`${file} has ${count}:`, ...lines].join('\n'));
    this.file = file;
    this.problems = problems;
  }
}

/** Sorts findings by their position in the document, then by path. Adds the positions. */
export function toProblems(
  findings: readonly Finding[],
  locate: (path: Path) => Position | undefined,
): ConfigProblem[] {
  const problems = findings
    .map(({ path, message }) => ({ path, message, place: locate(path) }))
    .toSorted(
      (one, two) =>
        (one.place?.line ?? 0) - (two.place?.line ?? 0) ||
        (one.place?.column ?? 0) - (two.place?.column ?? 0) ||
        comparePaths(one.path, two.path),
    )
    .map(({ path, message, place }) => ({ path: formatPath(path), message, ...place }));
  // Several pipelines may report the same problem of an option that they share.
  return [...new Map(problems.map((problem) => [JSON.stringify(problem), problem])).values()];
}

import { comparePaths, formatPath, type Path, type Position } from './path.ts';

/** One mistake in a configuration. */
export interface ConfigProblem extends Partial<Position> {
  /** `pipelines[0].batch.maxAge`, or `(top level)`. */
  readonly path: string;
  /** Value found, values allowed, remedy. Never a secret. */
  readonly message: string;
}

/** A problem whose path is still in steps. */
export interface Finding {
  readonly path: Path;
  readonly message: string;
}

/** Every problem of a configuration, sorted by path; the message lists them all. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly file: string;
  readonly problems: readonly ConfigProblem[];
  constructor(file: string, problems: readonly ConfigProblem[]) {
    // file:12:5, the form that editors turn into a link.
    const lines = problems.map(({ path, message, line, column }) =>
      line === undefined
        ? `  ${path}: ${message}`
        : `  ${file}:${line}:${column}  ${path}: ${message}`,
    );
    const count = `${problems.length} problem${problems.length === 1 ? '' : 's'}`;
    super([`${file} has ${count}:`, ...lines].join('\n'));
    this.file = file;
    this.problems = problems;
  }
}

/** Sorts findings by path, and adds where each is written. */
export function toProblems(
  findings: readonly Finding[],
  locate: (path: Path) => Position | undefined,
): ConfigProblem[] {
  const problems = findings
    .toSorted((one, two) => comparePaths(one.path, two.path))
    .map(({ path, message }) => ({ path: formatPath(path), message, ...locate(path) }));
  // Several pipelines may report the same one.
  return [...new Map(problems.map((problem) => [JSON.stringify(problem), problem])).values()];
}

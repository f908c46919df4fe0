import type { Position } from './document.ts';
import { comparePaths, formatPath, type Path } from './path.ts';

/** One thing that is wrong with a configuration. */
export interface Problem {
  /** `pipelines[0].batch.maxAge`, or `(top level)`. */
  readonly path: string;
  /** What was found, what is allowed, what to do. Never a secret. */
  readonly message: string;
  /** Where it is written, from 1; absent when it is nowhere. */
  readonly line?: number;
  readonly column?: number;
}

/** A problem on its way, its path still in steps. */
export interface Finding {
  readonly path: Path;
  readonly message: string;
}

/** Everything that is wrong, at once, sorted by path. Its message lists it all. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly file: string;
  readonly problems: readonly Problem[];
  constructor(file: string, problems: readonly Problem[]) {
    super(
      [
        `${file} has ${problems.length} problem${problems.length === 1 ? '' : 's'}:`,
        ...problems.map((problem) => formatProblem(file, problem)),
      ].join('\n'),
    );
    this.file = file;
    this.problems = problems;
  }
}

/** Sorted by path, each once, with where it is written. */
export function toProblems(
  findings: readonly Finding[],
  locate: (path: Path) => Position | undefined,
): Problem[] {
  const sorted = [...findings].sort((one, two) => comparePaths(one.path, two.path));
  const seen = new Set<string>();
  return sorted.flatMap(({ path, message }) => {
    const problem = { path: formatPath(path), message, ...locate(path) };
    const identity = `${problem.path}\n${message}`;
    if (seen.has(identity)) return [];
    seen.add(identity);
    return [problem];
  });
}

/** `  file:12:5  path: message`, the form that editors turn into a link. */
function formatProblem(file: string, { path, message, line, column }: Problem): string {
  const place = line === undefined ? '' : `${file}:${line}:${column}  `;
  return `  ${place}${path}: ${message}`;
}

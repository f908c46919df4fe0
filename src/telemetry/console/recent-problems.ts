/** The last warnings and errors of the log, as the logger has redacted them (I6). The same said again only counts. */

const MAX_PROBLEMS = 40;
const MAX_MESSAGE = 300;
const MAX_DETAIL = 600;
/** Fields that the console shows by itself, or that are for machines. */
const LEFT_OUT = new Set(['pipeline', 'error', 'stack']);

export interface Problem {
  readonly level: 'warn' | 'error';
  readonly message: string;
  readonly detail: string;
  readonly pipeline: string | null;
  readonly count: number;
  readonly firstMs: number;
  readonly lastMs: number;
}

export class RecentProblems {
  readonly #now: () => number;
  /** The newest last. */
  readonly #problems = new Map<string, Problem>();

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** @param fields of the log line, redacted */
  add(level: 'warn' | 'error', fields: Readonly<Record<string, unknown>>, text: string): void {
    const message = cut(text, MAX_MESSAGE);
    const pipeline = typeof fields.pipeline === 'string' ? fields.pipeline : null;
    const key = JSON.stringify([level, pipeline, message]);
    const before = this.#problems.get(key);
    const lastMs = this.#now();
    this.#problems.delete(key);
    this.#problems.set(key, {
      level,
      message,
      detail: cut(describe(fields), MAX_DETAIL),
      pipeline,
      count: (before?.count ?? 0) + 1,
      firstMs: before?.firstMs ?? lastMs,
      lastMs,
    });
    if (this.#problems.size > MAX_PROBLEMS)
      this.#problems.delete(this.#problems.keys().next().value as string);
  }

  /** The newest first. */
  list(): Problem[] {
    return [...this.#problems.values()].reverse();
  }
}

function describe(fields: Readonly<Record<string, unknown>>): string {
  const { error } = fields;
  const parts = typeof error === 'string' ? [error] : [];
  for (
    let cause: unknown = error, depth = 0;
    isError(cause) && depth < 4;
    cause = cause.cause, depth++
  )
    if (!parts.includes(cause.message)) parts.push(cause.message);
  const others = Object.entries(fields)
    .filter(
      ([name, value]) =>
        !LEFT_OUT.has(name) &&
        value !== null &&
        (typeof value !== 'object' || Array.isArray(value)),
    )
    .map(
      ([name, value]) =>
        `${name}=${Array.isArray(value) ? value.map(String).join(', ') : String(value)}`,
    );
  return [parts.join(': '), others.join('  ')].filter((part) => part !== '').join('  ');
}

const isError = (value: unknown): value is { message: string; cause?: unknown } =>
  typeof value === 'object' &&
  value !== null &&
  'message' in value &&
  typeof value.message === 'string';

const cut = (text: string, length: number): string =>
  text.length > length ? `${text.slice(0, length - 1)}…` : text;

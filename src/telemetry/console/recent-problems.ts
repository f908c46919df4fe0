/** Recent warnings and errors of the log, as redacted by the logger (I6). Repeated problems are counted. */
import type { LogFields } from '../logger.ts';

const MAX_PROBLEMS = 40;
const MAX_MESSAGE = 300;
const MAX_DETAIL = 600;
const MAX_CAUSES = 4;
/** Form of a reason. Only single words count, because sentences may contain varying numbers. */
const REASON = /^[a-z_]{1,40}$/;
/** Fields that are shown elsewhere on the page, and fields that are for programs. */
const HIDDEN = new Set(['pipeline', 'error', 'stack']);

export interface RecentProblem {
  readonly level: 'warn' | 'error';
  readonly message: string;
  /** Reason from a closed list, or null. It distinguishes problems with the same message. */
  readonly reason: string | null;
  readonly detail: string;
  readonly pipeline: string | null;
  readonly count: number;
  readonly firstMs: number;
  readonly lastMs: number;
}

export class RecentProblems {
  readonly #now: () => number;
  /** Keyed by level, pipeline, message and reason; newest last. */
  readonly #problems = new Map<string, RecentProblem>();

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** @param fields redacted fields of the log line */
  add(level: RecentProblem['level'], fields: LogFields, text: string): void {
    const message = cut(text, MAX_MESSAGE);
    const pipeline = typeof fields.pipeline === 'string' ? fields.pipeline : null;
    const { reason: given } = fields;
    const reason = typeof given === 'string' && REASON.test(given) ? given : null;
    const key = JSON.stringify([level, pipeline, message, reason]);
    const before = this.#problems.get(key);
    const lastMs = this.#now();
    this.#problems.delete(key);
    this.#problems.set(key, {
      level,
      message,
      reason,
      detail: cut(describe(fields), MAX_DETAIL),
      pipeline,
      count: (before?.count ?? 0) + 1,
      firstMs: before?.firstMs ?? lastMs,
      lastMs,
    });
    const [oldest = ''] = this.#problems.keys();
    if (this.#problems.size > MAX_PROBLEMS) this.#problems.delete(oldest);
  }

  /** Returns the problems, newest first. */
  list(): RecentProblem[] {
    return [...this.#problems.values()].reverse();
  }
}

/** Returns the messages of an error and its causes, and then the fields that have simple values. */
function describe(fields: LogFields): string {
  const { error } = fields;
  const messages = new Set(typeof error === 'string' ? [error] : []);
  for (let cause = error, depth = 0; isError(cause) && depth < MAX_CAUSES; depth++) {
    messages.add(cause.message);
    cause = cause.cause;
  }
  const others = Object.entries(fields)
    .filter(
      ([name, value]) =>
        !HIDDEN.has(name) && value !== null && (typeof value !== 'object' || Array.isArray(value)),
    )
    .map(([name, value]) => `${name}=${[value].flat().join(', ')}`);
  return [[...messages].join(': '), others.join('  ')].filter((part) => part !== '').join('  ');
}

const isError = (value: unknown): value is { message: string; cause?: unknown } =>
  typeof value === 'object' &&
  value !== null &&
  'message' in value &&
  typeof value.message === 'string';

const cut = (text: string, length: number): string =>
  text.length > length ? `${text.slice(0, length - 1)}…` : text;

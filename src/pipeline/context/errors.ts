import { classOf, crashOf } from '../../core/outcome/internal-error.ts';

/** Another instance owns the shard, or may: give it up, hear from the group, claim again. */
export class ShardLostError extends Error {
  override readonly name = 'ShardLostError';
}

/** The connector must not run like this; the message says what to change. Ends the process with its own exit code. */
export class RefusedError extends Error {
  override readonly name = 'RefusedError';
}

/** Records that were read again cannot be decoded yet. Whoever holds what others need gives it back until `ready` resolves. */
export class Unprepared extends Error {
  override readonly name = 'Unprepared';
  readonly ready: Promise<void>;

  constructor(ready: Promise<void>) {
    super('what the records need to be decoded is not at hand');
    this.ready = ready;
  }
}

/** Exceptions of the language: their messages may quote content (I6). */
const OF_THE_LANGUAGE: ReadonlySet<string> = new Set([
  'TypeError',
  'RangeError',
  'SyntaxError',
  'ReferenceError',
  'URIError',
  'EvalError',
]);

export function isOfTheLanguage(error: unknown): boolean {
  return error instanceof Error && OF_THE_LANGUAGE.has(classOf(error));
}

/** An error in a log line: with its message, or with the place in the code where the message may hold content. */
export function describe(error: unknown): string {
  if (!(error instanceof Error) || isOfTheLanguage(error)) return crashOf(error);
  return `${classOf(error)}: ${error.message}`;
}

/** The same in one line. */
export function shortly(error: unknown): string {
  return describe(error)
    .split('\n')
    .slice(0, 2)
    .map((line) => line.trim())
    .join(' ');
}

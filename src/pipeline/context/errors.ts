import { classOf, crashOf } from '../../core/outcome/internal-error.ts';

/** The shard is lost, or may be: it is given up, and claimed again once the group answers. */
export class ShardLostError extends Error {
  override readonly name = 'ShardLostError';
}

/**
 * The connector must not run with this configuration; the message has the remedy. Ends the process
 * with exit code 4.
 */
export class RefusedError extends Error {
  override readonly name = 'RefusedError';
}

/** Exceptions of the language, whose messages may quote content (I6). */
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

/**
 * Text of an error for log lines: its message, or the place in the code if the message may have
 * content.
 */
export function describe(error: unknown): string {
  if (!(error instanceof Error) || isOfTheLanguage(error)) return crashOf(error);
  return `${classOf(error)}: ${error.message}`;
}

/** Text of an error in one line. */
export function shortly(error: unknown): string {
  return describe(error)
    .split('\n')
    .slice(0, 2)
    .map((line) => line.trim())
    .join(' ');
}

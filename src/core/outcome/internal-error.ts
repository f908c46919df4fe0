/** Errors of the connector itself. Messages of exceptions are dropped because they may quote content (I6). */
import type { Poison } from '../record.ts';

/** Internal error with a message of the connector itself, which never contains content. */
export class InternalError extends Error {
  override readonly name = 'InternalError';
}

const MAX_FRAMES = 12;
const CLASS_NAME = /^[\w$]{1,60}$/;

/** Returns the name of an exception's class. */
export function classOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  return CLASS_NAME.test(error.name) ? error.name : 'Error';
}

/** Returns an exception's class and stack frames, without its message. */
export function crashOf(error: unknown): string {
  if (!(error instanceof Error)) return classOf(error);
  if (error instanceof InternalError) return error.message;
  const { message } = error;
  const stack = String(error.stack ?? '');
  // The message precedes the frames and may contain lines that look like frames.
  const frames = stack
    .slice(message === '' ? 0 : stack.indexOf(message) + message.length)
    .split('\n');
  return [
    classOf(error),
    ...frames.filter((line) => /^ {4}at /.test(line)).slice(0, MAX_FRAMES),
  ].join('\n');
}

/** Returns the poison of a record on which the connector itself failed. */
export function internalPoison(error: unknown): Poison {
  return {
    reason: 'internal_error',
    message: `the connector failed on this record (${classOf(error)}): see the connector's log for the stack frames`,
    crash: crashOf(error),
  };
}

/** Returns the result of `make`, or the poison of the record on which it failed. */
export function attempt<T>(make: () => T): { readonly made: T } | { readonly poison: Poison } {
  try {
    return { made: make() };
  } catch (error) {
    return { poison: internalPoison(error) };
  }
}

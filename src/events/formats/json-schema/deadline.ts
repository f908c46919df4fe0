/**
 * Deadline for synchronous work that its input alone does not bound, such as a regular expression
 * over a hostile text: V8 interrupts the calls of a `vm.Script` with a timeout. It costs some 100 µs
 * a call.
 */
import { createContext, Script } from 'node:vm';

/** A suspended process, or one without a processor, misses deadlines whatever the input is. */
const MAX_TRIES = 4;

export class DeadlineExceeded extends Error {
  override readonly name = 'DeadlineExceeded';
}

/**
 * Runs a function with a deadline. It may be called more than once, and must change nothing.
 * @throws DeadlineExceeded, or the error of the function
 */
export type Deadline = <T>(work: () => T) => T;

export function deadlineOf(deadlineMs: number): Deadline {
  const script = new Script('work()');
  const place: { work?: () => unknown } = {};
  let context: object | undefined;
  return <T>(work: () => T): T => {
    context ??= createContext(place);
    for (let tries = 1; ; tries++) {
      const before = process.cpuUsage();
      place.work = work;
      try {
        return script.runInContext(context, { timeout: deadlineMs }) as T;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
        const { user, system } = process.cpuUsage(before);
        if ((user + system) / 1000 > deadlineMs / 2 || tries === MAX_TRIES)
          throw new DeadlineExceeded(`it took longer than ${deadlineMs} ms`);
      } finally {
        delete place.work;
      }
    }
  };
}

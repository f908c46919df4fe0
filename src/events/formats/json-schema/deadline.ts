/**
 * A deadline for synchronous work that its input alone does not bound, such as a regular expression over a hostile text. V8 interrupts
 * scripts and regular expressions that a `vm.Script` with a timeout calls; the watch costs some 100 µs a call.
 */
import { type Context, createContext, Script } from 'node:vm';

/** A process that is suspended, or gets no processor, misses deadlines through no fault of the input. */
const MAX_TRIES = 4;

export class DeadlineExceeded extends Error {
  override readonly name = 'DeadlineExceeded';
}

/**
 * Runs a function with a deadline. It may be called more than once, and must change nothing.
 * @throws DeadlineExceeded, or what the function throws
 */
export type Deadline = <T>(work: () => T) => T;

export function deadlineOf(deadlineMs: number): Deadline {
  const place: { work: () => unknown } = { work: idle };
  const script = new Script('work()');
  let context: Context | undefined;
  return <T>(work: () => T): T => {
    context ??= createContext(place);
    place.work = work;
    try {
      for (let tries = 1; ; tries++) {
        const before = process.cpuUsage();
        try {
          return script.runInContext(context, { timeout: deadlineMs }) as T;
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
          const { user, system } = process.cpuUsage(before);
          if ((user + system) / 1000 > deadlineMs / 2 || tries === MAX_TRIES) {
            throw new DeadlineExceeded(`it took longer than ${deadlineMs} ms`);
          }
        }
      }
    } finally {
      place.work = idle;
    }
  };
}

const idle = (): undefined => undefined;

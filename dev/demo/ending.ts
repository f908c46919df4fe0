/** Early end of the demo, and waits that stop with it. */
import { constants } from 'node:os';

/** Somebody asked it to end. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted';
  /** As a shell reports a process that a signal ended: 130 for Ctrl-C. */
  readonly exitCode: number;

  constructor(signal: 'SIGINT' | 'SIGTERM' | 'SIGHUP') {
    super(`interrupted by ${signal}`);
    this.exitCode = 128 + constants.signals[signal];
  }
}

/** Resolves or rejects as `promise` does, unless the signal is first: then rejects with its reason. */
export function unlessEnded<T>(signal: AbortSignal, promise: Promise<T>): Promise<T> {
  if (signal.aborted) {
    promise.catch(() => undefined);
    return Promise.reject(signal.reason);
  }
  return new Promise((resolve, reject) => {
    const ended = () => reject(signal.reason);
    signal.addEventListener('abort', ended, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', ended));
  });
}

/** Longest wait for a Kafka client that says good-bye to a broker which may be gone, ms: the end of the process ends it too. */
const CLIENT_MS = 2_000;

/** Resolves when the promise settles, whichever way, or when a client has had its time. */
export async function clientEnded(promise: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, CLIENT_MS);
  });
  await Promise.race([promise.catch(() => undefined), late]);
  clearTimeout(timer);
}

/** Stack of clean-up steps: runs all, last first, even if some fail. */
export class Cleanup {
  readonly #steps: { readonly what: string; readonly undo: () => Promise<unknown> }[] = [];

  add(what: string, undo: () => Promise<unknown>): void {
    this.#steps.push({ what, undo });
  }

  /** @returns what could not be undone, a sentence each. Repeatable. */
  async run(): Promise<string[]> {
    const failures: string[] = [];
    for (let step = this.#steps.pop(); step !== undefined; step = this.#steps.pop()) {
      try {
        await step.undo();
      } catch (error) {
        failures.push(`could not ${step.what}: ${messageOf(error)}`);
      }
    }
    return failures;
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

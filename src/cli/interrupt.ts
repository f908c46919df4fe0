import { CommandFailed, EXIT } from './exit-codes.ts';

/** Ctrl-C, a supervisor, a terminal that is closed. */
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** End of a command by a signal; the reason of the signal of `interruptible`. */
export class Interrupted extends CommandFailed {
  constructor() {
    super('Interrupted.', EXIT.interrupted);
  }
}

/**
 * Runs `work` with an AbortSignal that aborts at SIGINT, SIGTERM or SIGHUP, and a promise that resolves to the name of the
 * signal. A second one ends the process at once.
 */
export async function interruptible<T>(
  work: (signal: AbortSignal, interrupted: Promise<NodeJS.Signals>) => Promise<T>,
): Promise<T> {
  const stop = new AbortController();
  const { promise, resolve } = Promise.withResolvers<NodeJS.Signals>();
  const onSignal = (name: NodeJS.Signals) => {
    if (stop.signal.aborted) process.exit(EXIT.interrupted);
    stop.abort(new Interrupted());
    resolve(name);
  };
  for (const name of SIGNALS) process.on(name, onSignal);
  try {
    return await work(stop.signal, promise);
  } finally {
    for (const name of SIGNALS) process.off(name, onSignal);
  }
}

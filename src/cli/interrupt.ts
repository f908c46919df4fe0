import { EXIT } from './exit-codes.ts';

/** Ctrl-C, a supervisor, a terminal that is closed. */
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Resolves at the first of these signals; a second one ends the process at once. `restore` gives them back. */
export function untilInterrupted(): {
  readonly interrupted: Promise<NodeJS.Signals>;
  restore(): void;
} {
  const { promise, resolve } = Promise.withResolvers<NodeJS.Signals>();
  let seen = false;
  const onSignal = (signal: NodeJS.Signals) => {
    if (seen) process.exit(EXIT.interrupted);
    seen = true;
    resolve(signal);
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
  return {
    interrupted: promise,
    restore: () => {
      for (const signal of SIGNALS) process.off(signal, onSignal);
    },
  };
}

import { EXIT } from './exit-codes.ts';

/** Resolves at the first SIGINT or SIGTERM; a second one ends the process at once. `restore` gives the signals back. */
export function untilInterrupted(): { readonly interrupted: Promise<NodeJS.Signals>; restore(): void } {
  const { promise, resolve } = Promise.withResolvers<NodeJS.Signals>();
  let seen = false;
  const onSignal = (signal: NodeJS.Signals) => {
    if (seen) process.exit(EXIT.interrupted);
    seen = true;
    resolve(signal);
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  return {
    interrupted: promise,
    restore: () => {
      process.off('SIGINT', onSignal);
      process.off('SIGTERM', onSignal);
    },
  };
}

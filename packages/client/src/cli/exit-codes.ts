/** Exit codes, one for each reaction that a caller may need. Scripts and platforms rely on them. */
export const EXIT = {
  ok: 0,
  failure: 1,
  usage: 2,
  unreachable: 3,
  refused: 4,
  problems: 5,
  unfinished: 6,
  interrupted: 130,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

export const EXIT_MEANINGS: Readonly<Record<keyof typeof EXIT, string>> = {
  ok: 'success, or shutdown on request',
  failure: 'unexpected failure: see the log',
  usage: 'invalid arguments or configuration',
  unreachable: 'Kafka, the service or the schema registry was unreachable; run: only at startup',
  refused: 'a topic, journal, schema, login, certificate or permission is missing or misconfigured',
  problems: 'completed, but found problems or failures, which the output lists',
  unfinished:
    'batch, import, decision: not finished yet; pause, drain, resume: written, but not in effect yet',
  interrupted: 'ended by a signal; run: ended at once by a second signal',
};

/** Returns the table of exit codes for `--help`. */
export function exitCodeTable(
  names: readonly (keyof typeof EXIT)[] = Object.keys(EXIT) as (keyof typeof EXIT)[],
): string {
  const rows = names.map((name) => `  ${String(EXIT[name]).padEnd(4)} ${EXIT_MEANINGS[name]}`);
  return ['Exit codes:', ...rows].join('\n');
}

/** Failure of a command, with an exit code and a message for people. */
export class CommandFailed extends Error {
  readonly code: ExitCode;

  /** @param code default: invalid arguments or input */
  constructor(message: string, code: ExitCode = EXIT.usage) {
    super(message);
    this.name = new.target.name;
    this.code = code;
  }
}

/** Sent by Ctrl-C, by a supervisor, and by a terminal that closes. */
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Error of a command that a signal has ended. It is the abort reason in `interruptible`. */
export class Interrupted extends CommandFailed {
  constructor() {
    super('Interrupted.', EXIT.interrupted);
  }
}

/**
 * Runs `work` with an AbortSignal that SIGINT, SIGTERM or SIGHUP aborts, and with a promise of that
 * signal's name. A second signal ends the process at once.
 * @param onHangup called for SIGHUP, which then does not abort the signal
 */
export async function interruptible<T>(
  work: (signal: AbortSignal, interrupted: Promise<NodeJS.Signals>) => Promise<T>,
  onHangup?: () => void,
): Promise<T> {
  const stop = new AbortController();
  const { promise, resolve } = Promise.withResolvers<NodeJS.Signals>();
  const onSignal = (name: NodeJS.Signals) => {
    if (name === 'SIGHUP' && onHangup !== undefined) return onHangup();
    if (stop.signal.aborted) process.exit(EXIT.interrupted);
    stop.abort(new Interrupted());
    resolve(name);
  };
  for (const name of SIGNALS) process.on(name, onSignal);
  try {
    return await work(stop.signal, promise);
  } finally {
    // After a signal the listeners stay. Without them, a second signal would kill the process
    // without an exit code.
    if (!stop.signal.aborted) for (const name of SIGNALS) process.off(name, onSignal);
  }
}

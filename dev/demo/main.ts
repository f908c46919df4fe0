/**
 * The demo:
 *
 *   npm run demo               real e-mails, reports and lookups through a real broker, the sandbox service and the connector
 *   npm run demo -- --keep     the same; then e-mails keep coming until Ctrl-C, and keys break the parts
 *
 * With KAFKA_BROKERS set it uses that cluster, with topics of its own that it deletes. Exit codes:
 * 0 all is well, 1 something is missing or failed, 2 wrong arguments, 130 ended by Ctrl-C. No
 * process and no file remains, however it ends.
 */
import { randomBytes } from 'node:crypto';
import { constants, tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { keepDirectory } from '../process/kept.ts';
import { runDemo } from './demo.ts';
import { Screen, seconds } from './screen.ts';

/** E-mails a second. */
const DEFAULT_RATE = 20;

const USAGE = `usage: npm run demo [-- --keep [--rate N]]

Sends real e-mails, records to import and ids of decisions through a local Kafka, the connector and a sandbox of the Content
Review Service, and checks that each comes back exactly once.

  --keep    e-mails keep coming afterwards, until Ctrl-C; keys stop the service, freeze the
            broker, kill the connector and write poison. Without a terminal: lines on standard
            input with the letters s, b, k and p
  --rate N  e-mails a second with --keep, 1 to 1000 (default 20)
  --help    show this help

KAFKA_BROKERS=host:port[,host:port...] uses that cluster instead of a local broker.
`;

/** npm forwards a signal that the terminal has sent to all: one Ctrl-C may arrive twice. */
const SAME_INTERRUPT_MS = 500;
/** Longest wait for the reader of the output. */
const WRITTEN_MS = 1_000;

class Interrupted extends Error {
  /** As a shell reports it: 130 for Ctrl-C. */
  readonly exitCode: number;

  constructor(signal: 'SIGINT' | 'SIGTERM' | 'SIGHUP') {
    super(`interrupted by ${signal}`);
    this.exitCode = 128 + constants.signals[signal];
  }
}

/** Interrupts: they end the demo, and at last the process; then the keeper cleans up. */
class Interrupts {
  readonly over = new AbortController();
  /** Takes the first Ctrl-C in its place. */
  gentle: (() => void) | undefined;
  #lastMs = Number.NEGATIVE_INFINITY;

  constructor() {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
      process.on(signal, () => this.#take(signal));
  }

  #take(signal: 'SIGINT' | 'SIGTERM' | 'SIGHUP'): void {
    const nowMs = performance.now();
    if (nowMs - this.#lastMs < SAME_INTERRUPT_MS) return;
    this.#lastMs = nowMs;
    const interrupted = new Interrupted(signal);
    if (this.over.signal.aborted) process.exit(interrupted.exitCode);
    const { gentle } = this;
    this.gentle = undefined;
    if (gentle !== undefined && signal === 'SIGINT') gentle();
    else this.over.abort(interrupted);
  }
}

async function main(keep: boolean, rate: number): Promise<number> {
  const startedMs = performance.now();
  const interrupts = new Interrupts();
  const { over } = interrupts;
  // The reader has gone, as in `npm run demo | head`.
  process.stdout.on('error', (error) => over.abort(error));
  const screen = new Screen(process.stdout);
  const complain = (text: string) => process.stderr.write(`\n${screen.paint('red', text)}\n`);
  const cleanup = new AsyncDisposableStack();
  let code = 0;
  try {
    const name = `content-review-demo-${randomBytes(4).toString('hex')}`;
    const directory = await keepDirectory(path.join(tmpdir(), name));
    cleanup.defer(() => directory.remove());
    // The broker's directory is then below it too.
    process.env.TMPDIR = directory.path;
    const context = {
      directory: directory.path,
      over: over.signal,
      failed: (error: Error) => over.abort(error),
    };
    screen.print(`\n${screen.paint('bold', 'Content Review Connector: the demo')}\n`);
    const onInterrupt = (handler: () => void) => {
      interrupts.gentle = handler;
    };
    const options = keep ? { rate, onInterrupt } : undefined;
    const problems = await runDemo(context, cleanup, screen, options);
    problems.forEach(complain);
    if (problems.length > 0) code = 1;
  } catch (error) {
    screen.clear();
    code = over.signal.reason instanceof Interrupted ? over.signal.reason.exitCode : 1;
    if (code === 1) complain(withCauses(error));
    else screen.print('\nStopping everything...');
  }
  await cleanup.disposeAsync().catch((error: unknown) => {
    process.stderr.write(`could not clean up: ${withCauses(error)}\n`);
    code ||= 1;
  });
  const took = `after ${seconds(performance.now() - startedMs)}`;
  if (code === 0)
    screen.print(
      `\n  All is well ${took}; nothing is left running.\n${keep ? '' : '  To look around and to break it: npm run demo -- --keep\n'}`,
    );
  if (code === 1)
    screen.print(`\n  Not all is well: see above. Ended ${took}; nothing is left running.\n`);
  return code;
}

function withCauses(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { message, cause } = error;
  return cause instanceof Error && !message.includes(cause.message)
    ? `${message}\n  because: ${withCauses(cause)}`
    : message;
}

const MAX_RATE = 1_000;

interface Arguments {
  readonly keep?: boolean;
  readonly rate: number;
  readonly help?: boolean;
}

function readArguments(): Arguments {
  try {
    const { values } = parseArgs({
      options: {
        keep: { type: 'boolean' },
        rate: { type: 'string' },
        help: { type: 'boolean', short: 'h' },
      },
    });
    const rate = Number(values.rate ?? DEFAULT_RATE);
    if (!Number.isInteger(rate) || rate < 1 || rate > MAX_RATE)
      throw new Error(`--rate is a number from 1 to ${MAX_RATE}, not ${values.rate}`);
    if (values.rate !== undefined && values.keep !== true)
      throw new Error('--rate needs --keep: without it the demo sends as fast as it can');
    return { ...values, rate };
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n${USAGE}`);
    process.exit(2);
  }
}

const { keep = false, rate, help = false } = readArguments();
if (help) process.stdout.write(USAGE);
const code = help ? 0 : await main(keep, rate);
// `process.exit` discards what a slow reader has not taken yet.
await Promise.race([
  new Promise((resolve) => process.stdout.write('', resolve)),
  sleep(WRITTEN_MS),
]);
process.exit(code);

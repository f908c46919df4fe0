/**
 * The demo:
 *
 *   npm run demo               real e-mails through a real broker, the sandbox service and the connector
 *   npm run demo -- --keep     the same; then e-mails keep coming until Ctrl-C, and keys break the parts
 *
 * If KAFKA_BROKERS is set, the demo uses that cluster, and deletes its own topics at the end. Exit
 * codes: 0 for success, 1 if something is missing or failed, 2 for wrong arguments, 130 after
 * Ctrl-C. No process and no file remains, however it ends.
 */
import { randomBytes } from 'node:crypto';
import { constants, tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { keepDirectory } from '../process/kept.ts';
import { runDemo } from './demo.ts';
import { Screen, seconds } from './screen.ts';

const USAGE = `usage: npm run demo [-- --keep]

Sends real e-mails through a local Kafka, the connector and a sandbox of the Content Review Service, and
checks that each comes back exactly once.

  --keep    e-mails keep coming afterwards, until Ctrl-C; keys freeze the service and the
            broker, kill the connector and write poison or an archive. Without a terminal: lines
            on standard input with the letters s, b, k, p and a
  --help    show this help

KAFKA_BROKERS=host:port[,host:port...] uses that cluster instead of a local broker.
`;

/** npm forwards a signal that the terminal has sent to all processes, so one Ctrl-C may arrive twice. */
const SAME_INTERRUPT_MS = 500;
/** Maximum wait until the output has been read. */
const WRITTEN_MS = 1_000;

type EndSignal = 'SIGINT' | 'SIGTERM' | 'SIGHUP';

/** Handler of interrupts. The first one ends the demo. The second one ends the process, and the keeper cleans up. */
class Interrupts {
  readonly over = new AbortController();
  /** Exit code that a shell would report: 130 for Ctrl-C. */
  exitCode: number | undefined;
  /** Called for the first Ctrl-C instead of ending the demo, if set. */
  gentle: (() => void) | undefined;
  #lastMs = Number.NEGATIVE_INFINITY;

  constructor() {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
      process.on(signal, () => this.#take(signal));
  }

  #take(signal: EndSignal): void {
    const nowMs = performance.now();
    if (nowMs - this.#lastMs < SAME_INTERRUPT_MS) return;
    this.#lastMs = nowMs;
    const { gentle } = this;
    this.gentle = undefined;
    if (gentle !== undefined && signal === 'SIGINT') {
      gentle();
      return;
    }
    const code = 128 + constants.signals[signal];
    if (this.over.signal.aborted) process.exit(code);
    this.exitCode = code;
    this.over.abort(new Error(`interrupted by ${signal}`));
  }
}

async function main(keep: boolean): Promise<number> {
  const startedMs = performance.now();
  const interrupts = new Interrupts();
  const { over } = interrupts;
  // The reader of the output may end first, as in `npm run demo | head`.
  process.stdout.on('error', (error) => over.abort(error));
  const screen = new Screen(process.stdout);
  const complain = (text: string) => process.stderr.write(`\n${screen.paint('red', text)}\n`);
  const cleanup = new AsyncDisposableStack();
  const unique = randomBytes(4).toString('hex');
  let code = 0;
  try {
    const directory = await keepDirectory(path.join(tmpdir(), `content-review-demo-${unique}`));
    cleanup.defer(() => directory.remove());
    // The broker's directory must be inside this directory, too.
    process.env.TMPDIR = directory.path;
    const context = {
      directory: directory.path,
      over: over.signal,
      failed: (error: Error) => over.abort(error),
    };
    screen.print(`\n${screen.paint('bold', 'Content Review Connector: the demo')}\n`);
    const prefix = (process.env.KAFKA_BROKERS ?? '') === '' ? '' : `demo-${unique}-`;
    const onInterrupt = (handler: () => void) => {
      interrupts.gentle = handler;
    };
    const problems = await runDemo(
      prefix,
      context,
      cleanup,
      screen,
      keep ? onInterrupt : undefined,
    );
    problems.forEach(complain);
    if (problems.length > 0) code = 1;
  } catch (error) {
    screen.draw('');
    code = interrupts.exitCode ?? 1;
    if (interrupts.exitCode === undefined) complain(withCauses(error));
    else screen.print('\nStopping everything...');
  }
  await cleanup.disposeAsync().catch((error: unknown) => {
    process.stderr.write(`could not clean up: ${withCauses(error)}\n`);
    code ||= 1;
  });
  const took = `after ${seconds(performance.now() - startedMs)}`;
  if (code === 0) screen.print(`  All is well ${took}; nothing is left running.`);
  if (code === 0 && !keep)
    screen.print('  To look around and to break it: npm run demo -- --keep\n');
  if (code === 1)
    screen.print(`\n  Something is wrong: see above. Ended ${took}; nothing is left running.\n`);
  return code;
}

function withCauses(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { message, cause } = error;
  return cause instanceof Error && !message.includes(cause.message)
    ? `${message}\n  because: ${withCauses(cause)}`
    : message;
}

function readArguments() {
  try {
    return parseArgs({
      options: { keep: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } },
    }).values;
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n${USAGE}`);
    process.exit(2);
  }
}

const { keep = false, help = false } = readArguments();
if (help) process.stdout.write(USAGE);
const code = help ? 0 : await main(keep);
// `process.exit` discards output that a slow reader has not read yet.
await Promise.race([
  new Promise((resolve) => process.stdout.write('', resolve)),
  sleep(WRITTEN_MS),
]);
process.exit(code);

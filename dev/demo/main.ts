/**
 * The demo:
 *
 *   npm run demo               real e-mails, reports and lookups through a real broker, the sandbox service and the connector
 *   npm run demo -- --keep     the same, and everything keeps running until Ctrl-C
 *
 * With KAFKA_BROKERS set it uses that cluster, with topics of its own that it deletes. Exit codes:
 * 0 all is well, 1 something is missing or failed, 2 wrong arguments, 130 ended by Ctrl-C. No
 * process and no file is left behind, however it ends.
 */
import { randomBytes } from 'node:crypto';
import { constants, tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { keepDirectory } from '../process/kept.ts';
import { type Running, runDemo } from './demo.ts';
import type { PartContext } from './parts.ts';
import { Screen, seconds } from './screen.ts';

const USAGE = `usage: npm run demo [-- --keep]

Sends real e-mails, records to import and ids of decisions through a local Kafka, the connector and a sandbox of the Content
Review Service, and checks that each comes back exactly once.

  --keep    leave everything running afterwards, until Ctrl-C
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

/** Ends the demo at the first signal, and the process at a second one: then the keeper cleans up. */
function endOnSignals(over: AbortController): void {
  let firstMs: number | undefined;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      const interrupted = new Interrupted(signal);
      if (firstMs !== undefined && performance.now() - firstMs > SAME_INTERRUPT_MS)
        process.exit(interrupted.exitCode);
      firstMs ??= performance.now();
      over.abort(interrupted);
    });
  }
}

async function main(keep: boolean): Promise<number> {
  const startedMs = performance.now();
  const over = new AbortController();
  endOnSignals(over);
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
    const { running, problems } = await runDemo(context, cleanup, screen, !keep);
    problems.forEach(complain);
    if (problems.length > 0) code = 1;
    if (keep) await stay(running, screen, context);
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
      `\n  All is well ${took}; nothing is left running.\n  To look around: npm run demo -- --keep\n`,
    );
  if (code === 1)
    screen.print(`\n  Not all is well: see above. Ended ${took}; nothing is left running.\n`);
  return code;
}

/** Lists what there is to look at; ends with the demo. */
async function stay(running: Running, screen: Screen, context: PartContext): Promise<void> {
  const { kafka, names, connector, sandbox } = running;
  const pipelines = Object.values(names.pipelines);
  const shown: [string, string][] = [
    ['console', `${connector.url}/`],
    ['metrics', `${connector.url}/metrics`],
    ['health', `${connector.url}/livez  ${connector.url}/readyz`],
    ['sandbox', `${sandbox.url}/sandbox/batches`],
    ['', `${sandbox.url}/sandbox/imports`],
    ['brokers', kafka.brokers.join(',')],
    ...pipelines.map(({ source, outcomes, deadLetters }, index): [string, string] => [
      index === 0 ? 'topics' : '',
      `${source}  ${outcomes}  ${deadLetters}`,
    ]),
    ['journals', pipelines.map(({ journal }) => journal).join('  ')],
    ['files', context.directory],
    ['', `connector.log  sandbox.log  sandbox  ${path.basename(kafka.dataDir ?? '')}`.trimEnd()],
  ];
  screen.print(`\n${screen.paint('bold', 'Everything is still running:')}\n`);
  for (const [name, text] of shown) screen.print(`  ${name.padEnd(11)}${text}`);
  screen.print('\n  Ctrl-C stops it and removes its data.');
  for (;;) await sleep(2 ** 30, undefined, { signal: context.over });
}

function withCauses(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { message, cause } = error;
  return cause instanceof Error && !message.includes(cause.message)
    ? `${message}\n  because: ${withCauses(cause)}`
    : message;
}

function readArguments(): { readonly keep?: boolean; readonly help?: boolean } {
  try {
    const help = { type: 'boolean', short: 'h' } as const;
    return parseArgs({ options: { keep: { type: 'boolean' }, help } }).values;
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n${USAGE}`);
    process.exit(2);
  }
}

const { keep = false, help = false } = readArguments();
if (help) process.stdout.write(USAGE);
const code = help ? 0 : await main(keep);
// `process.exit` discards what a slow reader has not taken yet.
await Promise.race([
  new Promise((resolve) => process.stdout.write('', resolve)),
  sleep(WRITTEN_MS),
]);
process.exit(code);

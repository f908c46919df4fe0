/**
 * The demo:
 *
 *   npm run demo               real e-mails, reports and lookups through a real broker, the sandbox service and the connector
 *   npm run demo -- --keep     the same, and everything keeps running until Ctrl-C
 *
 * With KAFKA_BROKERS set it uses that cluster, with topics of its own that it deletes. Exit codes: 0 all is well,
 * 1 something is missing or failed, 2 wrong arguments, 130 ended by Ctrl-C. Nothing is left behind, however it ends.
 */
import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { keepDirectory } from '../process/kept.ts';
import { type DemoResult, runDemo } from './demo.ts';
import { Cleanup, Interrupted, messageOf, unlessEnded } from './ending.ts';
import type { PartContext } from './parts.ts';
import { Screen, written } from './screen.ts';
import { seconds } from './table.ts';

const USAGE = `usage: npm run demo [-- --keep]

Sends real e-mails, records to import and ids of decisions through a local Kafka, the connector and a sandbox of the Content
Review Service, and checks that each comes back exactly once.

  --keep    leave everything running afterwards, until Ctrl-C
  --help    show this help

KAFKA_BROKERS=host:port[,host:port...] uses that cluster instead of a local broker.
`;

/** npm passes a signal on that the terminal has sent to all: one Ctrl-C may arrive twice. */
const SAME_INTERRUPT_MS = 500;

function readArguments(): { keep: boolean; help: boolean } | undefined {
  try {
    const { values } = parseArgs({
      options: {
        keep: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
    return values;
  } catch (error) {
    process.stderr.write(`${messageOf(error)}\n\n${USAGE}`);
    return undefined;
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
  // Nobody reads any more, as in `npm run demo | head`.
  process.stdout.on('error', (error) => over.abort(error));
  const screen = new Screen(process.stdout);
  const cleanup = new Cleanup();
  const took = () => `after ${seconds(performance.now() - startedMs)}`;
  let code = 0;
  try {
    const directory = await keepDirectory(
      path.join(tmpdir(), `content-review-demo-${randomBytes(4).toString('hex')}`),
    );
    cleanup.add('remove the temporary directory', () => directory.remove());
    // The broker's directory is then below it too.
    process.env.TMPDIR = directory.path;
    const context = {
      directory: directory.path,
      over: over.signal,
      failed: (error: Error) => over.abort(error),
    };
    screen.print(`\n${screen.paint('bold', 'Content Review Connector: the demo')}\n`);
    const result = await runDemo({ context, cleanup, screen, stopFirst: !keep });
    for (const problem of result.problems)
      process.stderr.write(`\n${screen.paint('red', problem)}\n`);
    if (result.problems.length > 0) code = 1;
    if (keep) await stay(result, screen, context);
  } catch (error) {
    screen.clear();
    code = over.signal.reason instanceof Interrupted ? over.signal.reason.exitCode : 1;
    if (code === 1) process.stderr.write(`\n${screen.paint('red', describe(error))}\n`);
    else screen.print('\nStopping everything...');
  }
  const failures = await cleanup.run();
  for (const failure of failures) process.stderr.write(`${failure}\n`);
  if (failures.length > 0 && code === 0) code = 1;
  if (code === 0)
    screen.print(
      `\n  All is well ${took()}; nothing is left running.\n  To look around: npm run demo -- --keep\n`,
    );
  else if (code === 1)
    screen.print(`\n  Not all is well: see above. Ended ${took()}; nothing is left running.\n`);
  return code;
}

/** Says what there is to look at; ends with the demo. */
async function stay(
  { running }: DemoResult,
  screen: Screen,
  { directory, over }: PartContext,
): Promise<void> {
  const { brokers, names, connector, sandbox, brokerFiles } = running;
  const localBroker: [string, string][] =
    brokerFiles === undefined ? [] : [['', path.basename(brokerFiles)]];
  const pipelines = Object.values(names.pipelines);
  const shown: [string, string][] = [
    ['console', `${connector.url}/`],
    ['metrics', `${connector.url}/metrics`],
    ['health', `${connector.url}/livez  ${connector.url}/readyz`],
    ['sandbox', `${sandbox.url}/sandbox/batches`],
    ['', `${sandbox.url}/sandbox/imports`],
    ['brokers', brokers.join(',')],
    ...pipelines.map(({ source, outcomes, deadLetters }, index): [string, string] => [
      index === 0 ? 'topics' : '',
      `${source}  ${outcomes}  ${deadLetters}`,
    ]),
    ['journals', pipelines.map(({ journal }) => journal).join('  ')],
    ['to read', `node dev/demo/read.ts ${brokers.join(',')} ${names.pipelines.review.outcomes}`],
    ['files', directory],
    ['', 'connector.log  sandbox.log  sandbox'],
    ...localBroker,
  ];
  screen.print(`\n${screen.paint('bold', 'Everything is still running:')}\n`);
  for (const [name, text] of shown) screen.print(`  ${name.padEnd(11)}${text}`);
  screen.print('\n  Ctrl-C stops it and removes its data.');
  const idle = setInterval(() => undefined, 60_000);
  try {
    await unlessEnded(over, new Promise<never>(() => undefined));
  } finally {
    clearInterval(idle);
  }
}

function describe(error: unknown): string {
  const lines = [messageOf(error)];
  for (
    let cause = error instanceof Error ? error.cause : undefined;
    cause instanceof Error;
    cause = cause.cause
  ) {
    if (!lines.some((line) => line.includes((cause as Error).message)))
      lines.push(`  because: ${cause.message}`);
  }
  return lines.join('\n');
}

const args = readArguments();
if (args === undefined) process.exit(2);
if (args.help) {
  process.stdout.write(USAGE);
  process.exit(0);
}
const code = await main(args.keep);
await written(process.stdout);
process.exit(code);

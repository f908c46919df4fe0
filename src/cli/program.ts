import { Command, CommanderError } from 'commander';
import { VERSION } from '../../packages/client/src/base/version.ts';
import {
  CommandFailed,
  EXIT,
  type ExitCode,
  exitCodeTable,
} from '../../packages/client/src/cli/exit-codes.ts';
import { type Io, type Outlet, PROGRAM } from '../../packages/client/src/cli/io.ts';
import { writing } from '../../packages/client/src/cli/output.ts';
import { printableLines, sentence } from '../../packages/client/src/cli/text.ts';
import { ConfigError } from '../config/load/problem.ts';
import { redactText } from '../telemetry/log-redaction.ts';
import { InspectError } from '../tools/inspect/context.ts';
import { auditCommand } from './commands/audit.ts';
import { checkCommand } from './commands/check.ts';
import { controlCommands } from './commands/control.ts';
import { deadLettersCommand } from './commands/dead-letters.ts';
import { doctorCommand } from './commands/doctor.ts';
import { evaluateCommand } from './commands/evaluate.ts';
import { explainCommand } from './commands/explain.ts';
import { resourceCommands } from './commands/resources.ts';
import { runCommand } from './commands/run.ts';
import { sandboxCommand } from './commands/sandbox.ts';
import { schemasCommand } from './commands/schemas.ts';
import { topicsCommand } from './commands/topics.ts';

/**
 * Hides Node's TimeoutNegativeWarning if kafkajs caused it. Some of kafkajs's timers are slightly
 * negative and fire at once, which is harmless. All other warnings still appear, and so does this
 * warning from other code.
 */
export function quietKafkajs(): void {
  for (const print of process.listeners('warning'))
    process.off('warning', print).on('warning', (warning) => {
      const isNegative = warning.name === 'TimeoutNegativeWarning';
      if (!isNegative || !/[\\/]kafkajs[\\/]/.test(warning.stack ?? '')) print(warning);
    });
}

const MAX_CAUSES = 5;

/** Runs a command line (without node and script). Returns the exit code, and never throws. */
export async function runCli(args: readonly string[], outlet: Outlet): Promise<number> {
  let code: ExitCode = EXIT.ok;
  // Commands write without waiting for a slow reader. Only the end of the program waits for the output.
  let written: Promise<Error | undefined> = Promise.resolve(undefined);
  const write = (where: string, work: void | Promise<void>) => {
    const before = written;
    written = writing(where, Promise.resolve(work)).then(
      () => before,
      async (error) => (await before) ?? error,
    );
  };
  const io: Io = {
    outIsTerminal: false,
    errColumns: () => undefined,
    data: async () => false,
    ...outlet,
    out: (text) => write('standard output', outlet.out(text)),
    err: (text) => write('standard error', outlet.err(text)),
    finish: (ended) => {
      code = ended;
    },
  };

  try {
    await createProgram(io).parseAsync(args, { from: 'user' });
  } catch (error) {
    code = failed(error, io);
  }
  const failure = await written;
  if (failure === undefined) return code;
  try {
    await outlet.err(`${printableLines(failure.message)}\n`);
  } catch {
    // Standard error is not writable either.
  }
  return EXIT.failure;
}

/** Returns the parser of the command line, with all commands and options. */
export function createProgram(io: Io): Command {
  const program = new Command(PROGRAM)
    .description(
      'Reads content events from Kafka, has a Content Review Service review them in batches, and publishes exactly one decision per event.',
    )
    .version(VERSION, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'show this help')
    .helpCommand('help [command]', 'show the help of a command')
    .showHelpAfterError('(run with --help for usage)')
    .exitOverride()
    .configureOutput({
      writeOut: io.out,
      writeErr: (text) => io.err(printableLines(text)),
    })
    .addHelpText(
      'after',
      `
Start here:
  $ npm run demo                                                        see it work on real e-mails
  $ content-review-connector check --config config/example.yaml         show the configuration in effect, or its problems
  $ content-review-connector run --config config/example.yaml           run the connector

${exitCodeTable()}`,
    );
  for (const add of [
    ...[runCommand, checkCommand, doctorCommand, topicsCommand, explainCommand],
    ...[auditCommand, evaluateCommand, deadLettersCommand, controlCommands, schemasCommand],
    ...[resourceCommands, sandboxCommand],
  ])
    add(program, io);
  return program;
}

/** Prints an error. @returns the exit code. */
function failed(error: unknown, io: Io): ExitCode {
  // Commander has already printed its message. Help and version are not failures.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  if (error instanceof InspectError) {
    io.err(`${sentence(error.message)}\n`);
    return EXIT[error.failure];
  }
  if (error instanceof CommandFailed || error instanceof ConfigError) {
    io.err(`${printableLines(error.message)}\n`);
    return error instanceof CommandFailed ? error.code : EXIT.usage;
  }
  io.err(`${printableLines(described(error))}\n`);
  return EXIT.failure;
}

/** Returns the messages of an error and its causes, without secrets (I6). Shows the stack of unexpected errors. */
function described(error: unknown): string {
  if (!(error instanceof Error)) return redactText(String(error));
  const lines = [error.name === 'Error' ? error.message : (error.stack ?? String(error))];
  for (
    let { cause } = error;
    cause instanceof Error && lines.length <= MAX_CAUSES;
    { cause } = cause
  )
    lines.push(`  caused by ${cause.name}: ${cause.message}`);
  return redactText(lines.join('\n'));
}

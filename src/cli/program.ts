import { readFileSync } from 'node:fs';
import { Command, CommanderError } from 'commander';
import { ConfigError } from '../config/load/problem.ts';
import { redactText } from '../telemetry/logging/redact.ts';
import { auditCommand } from './commands/audit.ts';
import { batchCommand } from './commands/batch.ts';
import { checkCommand } from './commands/check.ts';
import { deadLettersCommand } from './commands/dead-letters.ts';
import { decisionCommand } from './commands/decision.ts';
import { doctorCommand } from './commands/doctor.ts';
import { explainCommand } from './commands/explain.ts';
import { importCommand } from './commands/import.ts';
import { journalCommand } from './commands/journal.ts';
import { runCommand } from './commands/run.ts';
import { sandboxCommand } from './commands/sandbox.ts';
import { schemasCommand } from './commands/schemas.ts';
import { EXIT, exitCodeTable } from './exit-codes.ts';
import { writing } from './files/output-problem.ts';
import { type Io, type Outlet, PROGRAM } from './io.ts';
import { UsageProblem } from './usage.ts';

const MAX_CAUSES = 5;

/** Runs the command line `args` (without node and script). Resolves to the exit code; never throws. */
export async function runCli(args: readonly string[], outlet: Outlet): Promise<number> {
  let code: number = EXIT.ok;
  const finish = (ended: number) => {
    code = ended;
  };
  const speech = new Speech(outlet);
  try {
    await createProgram(speech, finish).parseAsync(args, { from: 'user' });
  } catch (error) {
    code = exitCodeOf(error, speech);
  }
  const unheard = await speech.heard();
  if (unheard === undefined) return code;
  try {
    await outlet.err(`${unheard.message}\n`);
  } catch {
    // Nobody can be told anything.
  }
  return EXIT.failure;
}

/** Whoever says something need not wait for its reader: the end of the command does. */
class Speech implements Io {
  readonly env: Io['env'];
  readonly program: string;
  readonly outIsTerminal: boolean;
  readonly #outlet: Outlet;
  #said: Promise<Error | undefined> = Promise.resolve(undefined);

  constructor(outlet: Outlet) {
    this.env = outlet.env;
    this.program = outlet.program ?? PROGRAM;
    this.outIsTerminal = outlet.outIsTerminal ?? false;
    this.#outlet = outlet;
  }

  errColumns(): number | undefined {
    return this.#outlet.errColumns?.();
  }

  data(bytes: Uint8Array): Promise<boolean> {
    return this.#outlet.data?.(bytes) ?? Promise.resolve(false);
  }

  out(text: string): void {
    this.#after('standard output', this.#outlet.out(text));
  }

  err(text: string): void {
    this.#after('standard error', this.#outlet.err(text));
  }

  /** Resolves when everything said has left the process: to why when some could not be written, on a full disk for one. */
  heard(): Promise<Error | undefined> {
    return this.#said;
  }

  #after(where: string, said: void | Promise<void>): void {
    const before = this.#said;
    this.#said = writing(where, Promise.resolve(said)).then(
      () => before,
      async (error) => (await before) ?? error,
    );
  }
}

function createProgram(io: Io, finish: (code: number) => void): Command {
  const program = new Command(PROGRAM)
    .description(
      'Reads content events from Kafka, has a Content Review Service review them in batches, and publishes exactly one decision per event.',
    )
    .version(packageVersion(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'show this help')
    .helpCommand('help [command]', 'show the help of a command')
    .showHelpAfterError('(--help shows what can be said)')
    .addHelpText(
      'after',
      `
Start here:
  $ npm run demo                                                        see it work on real e-mails
  $ content-review-connector check --config config/example.yaml         what is in effect, or what is wrong
  $ content-review-connector run --config config/example.yaml           the real thing

${exitCodeTable()}`,
    );
  program
    .exitOverride()
    .configureOutput({ writeOut: (text) => io.out(text), writeErr: (text) => io.err(text) });
  for (const create of [
    runCommand,
    checkCommand,
    doctorCommand,
    journalCommand,
    explainCommand,
    auditCommand,
    deadLettersCommand,
    schemasCommand,
    batchCommand,
    importCommand,
    decisionCommand,
    sandboxCommand,
  ]) {
    const command = create(io, finish);
    program.addCommand(command);
    inherit(program, command, command.name());
  }
  return program;
}

/** Commands made on their own know nothing of the program's settings. */
function inherit(from: Command, command: Command, name: string): void {
  command
    .copyInheritedSettings(from)
    .showHelpAfterError(`(content-review-connector ${name} --help shows what can be said)`);
  for (const sub of command.commands) inherit(command, sub, `${name} ${sub.name()}`);
}

function exitCodeOf(error: unknown, io: Io): number {
  // Commander has printed its message already; asking for help or version is no mistake.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  if (error instanceof ConfigError || error instanceof UsageProblem) {
    io.err(`${error.message}\n`);
    return EXIT.usage;
  }
  io.err(`${describe(error)}\n`);
  return EXIT.failure;
}

/** The message and its causes, without secrets (I6). An `Error` of ours explains itself; for any other kind the stack says where it came from. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return redactText(String(error));
  const lines = [
    error.name === 'Error' ? error.message : (error.stack ?? `${error.name}: ${error.message}`),
  ];
  for (
    let cause = error.cause, depth = 0;
    cause instanceof Error && depth < MAX_CAUSES;
    cause = cause.cause, depth++
  ) {
    lines.push(`  caused by ${cause.name}: ${cause.message}`);
  }
  return redactText(lines.join('\n'));
}

/** package.json lies two folders up both from src/cli and from dist/cli. */
function packageVersion(): string {
  const { version } = JSON.parse(
    readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
  ) as { version: string };
  return version;
}

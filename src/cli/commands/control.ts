import { hostname } from 'node:os';
import { type Command, InvalidArgumentError } from 'commander';
import { EXIT, type ExitCode, interruptible } from '../../../packages/client/src/cli/exit-codes.ts';
import { helpText, type Io } from '../../../packages/client/src/cli/io.ts';
import { counted, instant, printable } from '../../../packages/client/src/cli/text.ts';
import {
  COMMANDS,
  type Command as ControlCommand,
  type Hold,
  MAX_BY_CHARACTERS,
  MAX_REASON_CHARACTERS,
} from '../../core/journal/control.ts';
import type { ControlOutcome, ControlReport, ShardAnswer } from '../../tools/inspect/control.ts';
import { configOption, duration, runTool, type ToolFlags } from '../tool-options.ts';

/** Maximum wait for the owners. They acknowledge within a second, or later if their shard is being claimed. */
const ANSWER_MS = 60_000;

/** Maximum length of a hold. A hold with the longest name and reason fits. */
const MAX_HOLD = 1_000;

interface ControlFlags extends ToolFlags {
  readonly reason?: string;
  readonly by?: string;
  readonly wait: boolean;
  readonly timeout?: number;
}

const SUMMARIES: Readonly<Record<ControlCommand, string>> = {
  pause: 'stop reading and submitting, on all replicas',
  drain: 'stop reading, and finish the records that were read',
  resume: 'end a pause or a drain',
};

const DESCRIPTIONS: Readonly<Record<ControlCommand, string>> = {
  pause:
    'Pauses a pipeline on all replicas and across restarts: no records are read or submitted. Batches that are under review are finished, and their decisions are published.',
  drain:
    'Drains a pipeline: no new records are read, and records in flight get their decisions, including retries. Exit code 0 proves that no job is live and that none begins until the pipeline is resumed.',
  resume: 'Ends the pause or drain of a pipeline.',
};

const EXAMPLES: Readonly<Record<ControlCommand, readonly string[]>> = {
  pause: ['pause posts --config connector.yaml --reason "database migration"'],
  drain: ['drain posts --config connector.yaml --timeout 30m'],
  resume: ['resume posts --config connector.yaml'],
};

export function controlCommands(program: Command, io: Io): void {
  for (const name of COMMANDS) {
    const command = configOption(program.command(name))
      .summary(SUMMARIES[name])
      .description(DESCRIPTIONS[name])
      .argument('<pipeline>', 'name of the pipeline');
    if (name !== 'resume')
      command.option(
        '--reason <text>',
        'reason that other operators see',
        limited('A reason', MAX_REASON_CHARACTERS),
      );
    command
      .option(
        '--by <name>',
        'name of the operator (default: USER@HOST)',
        limited('A name', MAX_BY_CHARACTERS),
      )
      .option('--no-wait', 'do not wait for the replicas')
      .option(
        '--timeout <time>',
        `maximum wait (default: ${name === 'drain' ? 'none' : '1m'})`,
        duration,
      )
      .option('--json', 'print a JSON document (docs/control.md)')
      .addHelpText('after', helpText(EXAMPLES[name], '', 'unfinished', 'interrupted'))
      .action((pipeline: string, flags: ControlFlags) => run(io, name, pipeline, flags));
  }
}

async function run(
  io: Io,
  command: ControlCommand,
  pipeline: string,
  flags: ControlFlags,
): Promise<void> {
  const { giveCommand } = await import('../../tools/inspect/control.ts');
  const { reason, wait, timeout = command === 'drain' ? Infinity : ANSWER_MS } = flags;
  const by = flags.by ?? `${io.env.USER ?? io.env.LOGNAME ?? 'unknown'}@${hostname()}`;
  const given = { command, by: by.slice(0, MAX_BY_CHARACTERS), reason };
  await interruptible((signal) =>
    runTool(
      io,
      { ...flags, pipeline },
      (tools, progress) =>
        giveCommand(tools, given, {
          timeoutMs: wait ? timeout : 0,
          onProgress: (shards) => progress.show(() => progressText(command, shards)),
          signal,
        }),
      (report) => controlText(report, command, pipeline),
      ({ outcome }) =>
        outcome === 'unfinished' && signal.aborted ? EXIT.interrupted : CODES[outcome],
    ),
  );
}

const CODES: Readonly<Record<ControlOutcome, ExitCode>> = {
  reached: EXIT.ok,
  written: EXIT.ok,
  superseded: EXIT.unfinished,
  unfinished: EXIT.unfinished,
};

const REACHED: Readonly<Record<ControlCommand, string>> = {
  pause: 'paused',
  drain: 'drained',
  resume: 'resumed',
};

function progressText(command: ControlCommand, shards: readonly ShardAnswer[]): string {
  const reached = shards.filter((one) => one.reached).length;
  const jobs = shards.reduce((sum, { liveJobs }) => sum + liveJobs, 0);
  const records = shards.reduce((sum, { unsettled }) => sum + unsettled, 0);
  const left = `${counted(jobs, 'live job')}, ${counted(records, 'record')} left`;
  const of = `${reached} of ${counted(shards.length, 'shard')} ${REACHED[command]}`;
  return command === 'drain' ? `${of}, ${left}` : of;
}

function controlText(
  { outcome, changed, attended, control: { revision, hold }, shards }: ControlReport,
  command: ControlCommand,
  pipeline: string,
): string {
  const what = printable(`Pipeline ${pipeline}`);
  const state = REACHED[command];
  const before = changed ? '' : ', as it was before';
  const answers: Readonly<Record<ControlOutcome, string>> = {
    reached: `${what} is ${state}${before} (revision ${revision}).`,
    written: changed
      ? `${what}: ${command} written; not waiting for the replicas.`
      : `${what} was ${state} already.`,
    superseded: `${what}: another command was given in the meantime; audit shows the current one.`,
    unfinished: `${what} is not ${state} yet: ${progressText(command, shards)}. The command stays in force (revision ${revision}).${attended !== false ? '' : ' No replica is running: it takes effect when one starts.'}`,
  };
  return `${answers[outcome]}\n${hold === undefined ? '' : `  ${printableHold(hold)}\n`}`;
}

/** Returns a hold as text for the terminal. */
export function printableHold({ state, atMs, by, reason }: Hold): string {
  const why = reason === undefined ? '' : `: ${reason}`;
  return printable(`Pipeline ${state} since ${instant(atMs)} by ${by}${why}`, MAX_HOLD);
}

/** Returns a parser for a string with a length limit. @param what subject of the error message */
function limited(what: string, most: number): (text: string) => string {
  return (text) => {
    if (text !== '' && text.length <= most) return text;
    throw new InvalidArgumentError(`${what} must have 1 to ${most} characters.`);
  };
}

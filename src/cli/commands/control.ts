import { hostname } from 'node:os';
import { type Command, InvalidArgumentError } from 'commander';
import { nearest } from '../../base/nearest.ts';
import { durationOf } from '../../config/units.ts';
import {
  COMMANDS,
  type Command as ControlCommand,
  type ControlScope,
  MAX_BY_CHARACTERS,
  MAX_REASON_CHARACTERS,
  MAX_TYPE_CHARACTERS,
} from '../../core/journal/control.ts';
import type { ControlOutcome, ControlReport, ShardAnswer } from '../../tools/inspect/control.ts';
import { CommandFailed, EXIT, type ExitCode, interruptible } from '../exit-codes.ts';
import { helpText, type Io } from '../io.ts';
import { counted, instant, printable } from '../text.ts';
import { configOption, duration, pointInTime, runTool, type ToolFlags } from '../tool-options.ts';

/** Owners answer within a second; one that is being claimed takes longer. */
const ANSWER_MS = 60_000;

/** The last date, ms since the epoch: a later time might be no exact number in the journal. */
const LAST_MS = 8.64e15;

/** A scope with its type, name and reason in full. */
const MAX_SCOPE = 1_000;

interface ControlFlags extends ToolFlags {
  readonly type?: string;
  readonly until?: number;
  readonly reason?: string;
  readonly by?: string;
  readonly wait: boolean;
  readonly timeout?: number;
}

const SUMMARIES: Readonly<Record<ControlCommand, string>> = {
  pause: 'take nothing in and submit nothing, on all replicas',
  drain: 'take nothing in, and end what was taken in',
  resume: 'end a pause or a drain',
};

const DESCRIPTIONS: Readonly<Record<ControlCommand, string>> = {
  pause:
    'Pauses a pipeline, or a content type of it, on all replicas and across restarts: nothing is taken in or submitted. Batches under review are followed, and their decisions are published.',
  drain:
    'Drains a pipeline, or a content type of it: nothing is taken in, and what was taken in is decided, retries included. Exit code 0 is the proof that no job is live; nothing begins before the pipeline is resumed.',
  resume: 'Ends the pause or drain of a pipeline and of all its content types, or of one type.',
};

const EXAMPLES: Readonly<Record<ControlCommand, readonly string[]>> = {
  pause: [
    'pause posts --config connector.yaml --until 2h --reason "database migration"',
    'pause posts --type comment -c connector.yaml',
  ],
  drain: ['drain posts --config connector.yaml --timeout 30m'],
  resume: ['resume posts --config connector.yaml'],
};

export function controlCommands(program: Command, io: Io): void {
  for (const name of COMMANDS) {
    const command = configOption(program.command(name))
      .summary(SUMMARIES[name])
      .description(DESCRIPTIONS[name])
      .argument('<pipeline>', 'name of the pipeline')
      .option(
        '--type <type>',
        'only this content type',
        limited('A content type', MAX_TYPE_CHARACTERS),
      );
    if (name !== 'resume')
      command
        .option('--until <when>', 'end by itself: ISO 8601, or after a time (30m)', momentAhead)
        .option('--reason <text>', 'shown to others', limited('A reason', MAX_REASON_CHARACTERS));
    command
      .option(
        '--by <name>',
        'who gives the command (default: USER@HOST)',
        limited('A name', MAX_BY_CHARACTERS),
      )
      .option('--no-wait', 'do not wait for the replicas')
      .option(
        '--timeout <time>',
        `longest wait (default: ${name === 'drain' ? 'none' : '1m'})`,
        duration,
      )
      .option('--json', 'print a JSON document (docs/control.md)')
      .addHelpText('after', helpText(EXAMPLES[name], '', 'unfinished', 'superseded', 'interrupted'))
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
  const { type, until, reason, wait, timeout = command === 'drain' ? Infinity : ANSWER_MS } = flags;
  const by = flags.by ?? `${io.env.USER ?? io.env.LOGNAME ?? 'unknown'}@${hostname()}`;
  const given = { command, type, by: by.slice(0, MAX_BY_CHARACTERS), reason, untilMs: until };
  await interruptible((signal) =>
    runTool(
      io,
      { ...flags, pipeline },
      (tools, progress) => {
        checkType(type, tools.pipeline.types);
        return giveCommand(tools, given, {
          timeoutMs: wait ? timeout : 0,
          onProgress: (shards) => progress.show(() => progressText(command, shards)),
          signal,
        });
      },
      (report) => controlText(report, command, pipeline, type),
      ({ outcome }) => CODES[outcome],
    ),
  );
}

const CODES: Readonly<Record<ControlOutcome, ExitCode>> = {
  reached: EXIT.ok,
  written: EXIT.ok,
  superseded: EXIT.superseded,
  ended: EXIT.unfinished,
  late: EXIT.unfinished,
  unattended: EXIT.unfinished,
  interrupted: EXIT.interrupted,
};

/** @param known types that the mapping of the pipeline can give; undefined: any */
function checkType(type: string | undefined, known: readonly string[] | undefined): void {
  if (type === undefined || known === undefined || known.includes(type)) return;
  const meant = nearest(type, known);
  const hint = meant === undefined ? `it has ${known.join(', ')}` : `did you mean ${meant}?`;
  throw new CommandFailed(`the pipeline has no content type ${printable(type)}: ${hint}`);
}

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
  { outcome, changed, revision, scopes, shards }: ControlReport,
  command: ControlCommand,
  pipeline: string,
  type: string | undefined,
): string {
  const what = printable(
    type === undefined ? `Pipeline ${pipeline}` : `Type ${type} of ${pipeline}`,
  );
  const state = REACHED[command];
  const before = changed ? '' : ', as it was before';
  const stays = `The command stays in force (revision ${revision}).`;
  const answers: Readonly<Record<ControlOutcome, string>> = {
    reached: `${what} is ${state}${before} (revision ${revision}).`,
    written: changed
      ? `${what}: ${command} written, not waited for.`
      : `${what} was ${state} already.`,
    superseded: `${what}: another command came meanwhile; journal shows what is in force.`,
    ended: `${what}: the time of the command was over before it was ${state}.`,
    late: `${what} is not ${state} yet: ${progressText(command, shards)}. ${stays}`,
    unattended: `${what} is not ${state}: no replica is running. ${stays}`,
    interrupted: `${what} is not ${state} yet. ${stays}`,
  };
  const lines = scopes.map((scope) => `  ${printableScope(scope)}\n`);
  return [`${answers[outcome]}\n`, ...lines].join('');
}

/** Returns a scope in words. */
export function printableScope({ type, state, atMs, by, untilMs, reason }: ControlScope): string {
  const of = type === undefined ? 'Pipeline' : `Type ${type}`;
  const until = untilMs === undefined ? '' : `, until ${instant(untilMs)}`;
  const why = reason === undefined ? '' : `: ${reason}`;
  return printable(`${of} ${state} since ${instant(atMs)} by ${by}${until}${why}`, MAX_SCOPE);
}

/** Returns a parser for a text. @param what subject of the error message */
function limited(what: string, most: number): (text: string) => string {
  return (text) => {
    if (text !== '' && text.length <= most) return text;
    throw new InvalidArgumentError(`${what} has 1 to ${most} characters.`);
  };
}

/** Parses `30m` or an ISO 8601 time, to milliseconds since the epoch. */
function momentAhead(text: string): number {
  const afterMs = durationOf(text);
  const ms = afterMs === undefined ? pointInTime(text) : Date.now() + afterMs;
  if (ms > LAST_MS) throw new InvalidArgumentError('The time is too far: no date is that late.');
  if (ms > Date.now()) return ms;
  throw new InvalidArgumentError('The time is over: name one to come, or a time from now (30m).');
}

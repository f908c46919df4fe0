import { Command, InvalidArgumentError } from 'commander';
import { choosePipeline } from '../../config/choose-pipeline.ts';
import { loadConfig } from '../../config/load/load.ts';
import type { Config, PipelineConfig } from '../../config/schema.ts';
import { durationOf } from '../../config/units.ts';
import type { CheckStatus } from '../../tools/doctor/check.ts';
import { type CheckReport, titleOf } from '../../tools/doctor/run-checks.ts';
import { EXIT } from '../exit-codes.ts';
import { untilInterrupted } from '../interrupt.ts';
import type { Finish, Io } from '../io.ts';
import { printable, printableJson } from '../printable.ts';
import { counted } from '../table.ts';
import { UsageProblem } from '../usage.ts';

interface DoctorFlags {
  readonly config: string;
  readonly pipeline?: string;
  readonly roundTrip?: true;
  readonly type?: string;
  readonly timeout?: number;
  readonly json?: true;
}

const ROUND_TRIP_MS = 60_000;
const MAX_SENTENCE = 2_000;
const MARKS: Readonly<Record<CheckStatus, string>> = {
  ok: '✓',
  warning: '!',
  failed: '✗',
  skipped: '-',
};

export function doctorCommand(io: Io, finish: Finish): Command {
  return new Command('doctor')
    .summary('try everything that a configuration names, and say what is wrong')
    .description(
      'Connects to the brokers, the service and the schema registry, looks at topics, journal, group, rights, certificates and clocks, and decodes the newest records: a line for each check, with what to do. Beside a running connector it disturbs nothing, and it changes nothing without --round-trip.',
    )
    .requiredOption('-c, --config <file>', 'configuration file (YAML)')
    .option('-p, --pipeline <name>', 'only this pipeline, and what it needs')
    .option(
      '--round-trip',
      'also send one test row to the service and fetch its result: the service reviews it, and may bill it',
    )
    .option(
      '--type <type>',
      'with --round-trip, the content type of the row; the first of source.types by default',
    )
    .option(
      '--timeout <duration>',
      'with --round-trip, wait no longer for the result than this (1m)',
      duration,
    )
    .option('--json', 'one JSON document for each check, a line each (docs/doctor.md)')
    .addHelpText(
      'after',
      `
Marks: ✓ well, ! look at it, ✗ wrong, - not tried.
Exit codes: 0 nothing is wrong (✗); 12 something is; 2 the configuration has problems.

Examples:
  $ content-review-connector doctor --config connector.yaml
  $ content-review-connector doctor -c connector.yaml --round-trip --type post
  $ content-review-connector doctor -c connector.yaml --json | jq 'select(.status == "failed")'`,
    )
    .action((flags: DoctorFlags) => work(io, finish, flags));
}

async function work(io: Io, finish: Finish, flags: DoctorFlags): Promise<void> {
  const [without] = (['type', 'timeout'] as const).filter((name) => flags[name] !== undefined);
  if (flags.roundTrip !== true && without !== undefined)
    throw new UsageProblem(`--${without} goes with --round-trip`);
  const config = await loadConfig(flags.config, io.env);
  const pipelines = chosen(config, flags.pipeline);
  const signals = untilInterrupted();
  const stop = new AbortController();
  void signals.interrupted.then(() => stop.abort(new Error('interrupted')));
  const say = flags.json === true ? asJson : asLine;
  try {
    // Loaded late: a wrong configuration is reported before anything heavy starts.
    const { runDoctor } = await import('../../app/tools/doctor.ts');
    const results = await runDoctor(config, {
      pipelines,
      roundTrip:
        flags.roundTrip === true
          ? { limitMs: flags.timeout ?? ROUND_TRIP_MS, type: flags.type }
          : undefined,
      signal: stop.signal,
      report: (result) => io.out(say(result)),
    });
    if (flags.json !== true) io.out(summary(results));
    finish(results.some(({ status }) => status === 'failed') ? EXIT.unwell : EXIT.ok);
  } catch (error) {
    if (!stop.signal.aborted) throw error;
    finish(EXIT.interrupted);
  } finally {
    signals.restore();
  }
}

function chosen(config: Config, name: string | undefined): readonly PipelineConfig[] {
  if (name === undefined) return config.pipelines;
  const chosen = choosePipeline(config, name);
  if (!chosen.ok) throw new UsageProblem(chosen.error);
  return [chosen.value];
}

function asLine({ check, status, found, remedy }: CheckReport): string {
  const text = `${MARKS[status]} ${titleOf(check)}: ${found}${remedy === undefined ? '' : ` -> ${remedy}`}`;
  return `${printable(text, MAX_SENTENCE)}\n`;
}

function asJson({ check, status, found, remedy, durationMs }: CheckReport): string {
  const { name, pipeline, about } = check;
  return `${printableJson(JSON.stringify({ check: name, pipeline: pipeline ?? null, about, status, found, remedy: remedy ?? null, durationMs }))}\n`;
}

function summary(results: readonly CheckReport[]): string {
  const number = (status: CheckStatus) => results.filter((one) => one.status === status).length;
  return `\n${counted(results.length, 'check')}: ${number('ok')} well, ${number('warning')} to look at, ${number('failed')} wrong, ${number('skipped')} not tried.\n`;
}

function duration(text: string): number {
  const ms = durationOf(text);
  if (typeof ms !== 'number' || ms === 0)
    throw new InvalidArgumentError('A length of time has a unit: 30s, 15m, 2h.');
  return ms;
}

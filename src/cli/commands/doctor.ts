import type { Command } from 'commander';
import { CommandFailed, EXIT } from '../../../packages/client/src/cli/exit-codes.ts';
import { helpText, type Io } from '../../../packages/client/src/cli/io.ts';
import { counted, printableJson, sentence } from '../../../packages/client/src/cli/text.ts';
import type { CheckStatus } from '../../tools/doctor/check.ts';
import { type CheckReport, titleOf } from '../../tools/doctor/run-checks.ts';
import { duration, onPipelines, type ToolFlags, toolOptions } from '../tool-options.ts';

interface DoctorFlags extends ToolFlags {
  readonly roundTrip?: true;
  readonly type?: string;
  readonly timeout?: number;
}

const ROUND_TRIP_MS = 60_000;
const MARKS: Readonly<Record<CheckStatus, string>> = {
  ok: '✓',
  warning: '!',
  failed: '✗',
  skipped: '-',
};

export function doctorCommand(program: Command, io: Io): void {
  toolOptions(
    program.command('doctor'),
    'only this pipeline, and its dependencies',
    'docs/doctor.md, one for each check',
  )
    .summary('check everything that a configuration names')
    .description(
      'Inspects Kafka, the service, the schema registry, topics, permissions, certificates and clocks, and decodes the newest records: a line for each check, with the remedy. Changes nothing without --round-trip.',
    )
    .option(
      '--round-trip',
      'also send one test row to the service and fetch its result: the service reviews it, and may bill it',
    )
    .option(
      '--type <type>',
      'with --round-trip, the content type of the row; default: the first of source.types',
    )
    .option('--timeout <duration>', 'with --round-trip, longest wait for the result (1m)', duration)
    .addHelpText(
      'after',
      helpText(
        [
          'doctor -c connector.yaml --round-trip --type post',
          `doctor -c connector.yaml --json | jq 'select(.status == "failed")'`,
        ],
        `Marks: ✓ passed, ! warning, ✗ failed, - skipped.`,
        'problems',
        'usage',
      ),
    )
    .action((flags: DoctorFlags) => examine(io, flags));
}

async function examine(io: Io, flags: DoctorFlags): Promise<void> {
  const { roundTrip, type, timeout, json } = flags;
  const unused = Object.keys({ type, timeout }).find((name) => name in flags);
  if (roundTrip !== true && unused !== undefined)
    throw new CommandFailed(`--${unused} requires --round-trip`);
  const report = (result: CheckReport) => io.out(json === true ? asJson(result) : asLine(result));
  const work: Parameters<typeof onPipelines>[2] = async (config, pipelines, signal) => {
    const { runDoctor } = await import('../../app/tools/doctor.ts');
    const results = await runDoctor(config, {
      pipelines,
      roundTrip: roundTrip === true ? { limitMs: timeout ?? ROUND_TRIP_MS, type } : undefined,
      signal,
      report,
    });
    if (json !== true) io.out(summary(results));
    return results.some(({ status }) => status === 'failed') ? EXIT.problems : EXIT.ok;
  };
  await onPipelines(io, flags, work, {});
}

function asLine({ check, status, found, remedy }: CheckReport): string {
  const advice = remedy === undefined ? '' : ` -> ${remedy}`;
  return `${sentence(`${MARKS[status]} ${titleOf(check)}: ${found}${advice}`)}\n`;
}

function asJson({ check, status, found, remedy, durationMs }: CheckReport): string {
  const subject = { check: check.name, pipeline: check.pipeline ?? null, about: check.about };
  const document = { ...subject, status, found, remedy: remedy ?? null, durationMs };
  return `${printableJson(JSON.stringify(document))}\n`;
}

function summary(results: readonly CheckReport[]): string {
  const number = (status: CheckStatus) => results.filter((one) => one.status === status).length;
  return `\n${counted(results.length, 'check')}: ${number('ok')} passed, ${counted(number('warning'), 'warning')}, ${number('failed')} failed, ${number('skipped')} skipped.\n`;
}

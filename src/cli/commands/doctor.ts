import type { Command } from 'commander';
import { EXIT } from '../../../packages/client/src/cli/exit-codes.ts';
import { helpText, type Io } from '../../../packages/client/src/cli/io.ts';
import { counted, printableJson, sentence } from '../../../packages/client/src/cli/text.ts';
import { type CheckReport, type CheckStatus, titleOf } from '../../tools/doctor/check.ts';
import { onPipelines, type ToolFlags, toolOptions } from '../tool-options.ts';

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
    'one for each check: docs/doctor.md',
  )
    .summary('check everything to which a configuration refers')
    .description(
      'Inspects Kafka, the service, the schema registry, topics and permissions. Prints a line for each check, with the remedy if it failed. Changes nothing.',
    )
    .addHelpText(
      'after',
      helpText(
        [
          'doctor -c connector.yaml',
          `doctor -c connector.yaml --json | jq 'select(.status == "failed")'`,
        ],
        `Marks: ✓ passed, ! warning, ✗ failed, - skipped.`,
        'problems',
        'usage',
      ),
    )
    .action((flags: ToolFlags) => examine(io, flags));
}

async function examine(io: Io, flags: ToolFlags): Promise<void> {
  const isJson = flags.json === true;
  await onPipelines(
    io,
    flags,
    async (config, pipelines, signal) => {
      const { runDoctor } = await import('../../app/tools/doctor.ts');
      const results = await runDoctor(config, { pipelines, signal }, (result) =>
        io.out(isJson ? asJson(result) : asLine(result)),
      );
      if (!isJson) io.out(summary(results));
      return results.some(({ status }) => status === 'failed') ? EXIT.problems : EXIT.ok;
    },
    {},
  );
}

function asLine({ check, status, found, remedy }: CheckReport): string {
  const advice = remedy === undefined ? '' : ` -> ${remedy}`;
  return `${sentence(`${MARKS[status]} ${titleOf(check)}: ${found}${advice}`)}\n`;
}

function asJson({ check, status, found, remedy }: CheckReport): string {
  const subject = { check: check.name, pipeline: check.pipeline ?? null, about: check.about };
  const document = { ...subject, status, found, remedy: remedy ?? null };
  return `${printableJson(JSON.stringify(document))}\n`;
}

function summary(results: readonly CheckReport[]): string {
  const number = (status: CheckStatus) => results.filter((one) => one.status === status).length;
  return `\n${counted(results.length, 'check')}: ${number('ok')} passed, ${counted(number('warning'), 'warning')}, ${number('failed')} failed, ${number('skipped')} skipped.\n`;
}

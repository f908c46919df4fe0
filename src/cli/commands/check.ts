import { type Command, InvalidArgumentError } from 'commander';
import { effectiveOptions } from '../../config/effective.ts';
import { loadConfig } from '../../config/load/load.ts';
import type { Config } from '../../config/schema.ts';
import { CommandFailed } from '../command-failed.ts';
import type { Io } from '../io.ts';
import { type SampleFlags, showSample } from '../sample.ts';
import { counted, facts } from '../table.ts';
import { configOption, pointInTime, several } from '../tool-options.ts';

type CheckFlags = Partial<SampleFlags> & { readonly config: string; readonly quiet?: true };

export function checkCommand(program: Command, io: Io): void {
  configOption(program.command('check'))
    .summary('check a configuration and show what is in effect')
    .description(
      'Checks a configuration file without connecting to Kafka or the service. Shows the configuration in effect, secrets masked; or all problems at once, on standard error, by path.',
    )
    .option('-q, --quiet', 'print nothing when the configuration is valid')
    .option(
      '--sample <file>',
      'show the outcome of one event, whose value is in this file; nothing is sent',
    )
    .option('-p, --pipeline <name>', 'with --sample: pipeline; required when there are several')
    .option('--key <text>', 'with --sample: key of the record')
    .option(
      '--header <name=value>',
      'with --sample: header of the record; repeatable',
      several(header),
    )
    .option('--timestamp <time>', 'with --sample: time of the record; default: now', pointInTime)
    .option('--json', 'with --sample: print a JSON document')
    .addHelpText(
      'after',
      `
Examples:
  $ content-review-connector check -q -c connector.yaml && echo deploy
  $ content-review-connector check -c connector.yaml --sample event.json --key user-7 --header lang=en

With --sample it shows the CSV row and the decision of the event, with an invented result; or the reason for which it would be
skipped or become a dead letter, with exit code 11.`,
    )
    .action(async ({ config: file, quiet, sample, ...record }: CheckFlags) => {
      const [unused] = Object.keys(record);
      if (sample === undefined && unused !== undefined)
        throw new CommandFailed(`--${unused} requires --sample`);
      const config = await loadConfig(file, io.env, { withoutServiceKey: sample !== undefined });
      if (sample !== undefined) await showSample(io, config, { sample, ...record });
      else if (quiet !== true) io.out(summary(file, config));
    });
}

/** The topics of each pipeline, then every option. */
function summary(file: string, config: Config): string {
  const pipelines = config.pipelines.map(
    ({ name, kind, source, journal, output, deadLetters }) =>
      `Pipeline ${name} (${kind})
  ${source.topic} -> ${output.topic}, or ${deadLetters.topic}
  group ${source.group}, journal ${journal.topic}
`,
  );
  const options = effectiveOptions(config).map(({ path, value }) => [path, value] as const);
  return [
    `${file} is valid: ${counted(config.pipelines.length, 'pipeline')}.\n`,
    ...pipelines,
    `In effect:\n${facts(options, '  ')}`,
  ].join('\n');
}

function header(text: string): readonly [string, string] {
  const at = text.indexOf('=');
  if (at < 1) throw new InvalidArgumentError('A header is NAME=VALUE.');
  return [text.slice(0, at), text.slice(at + 1)];
}

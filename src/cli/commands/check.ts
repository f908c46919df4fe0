import { Command, InvalidArgumentError } from 'commander';
import { effectiveOptions } from '../../config/effective.ts';
import { loadConfig } from '../../config/load/load.ts';
import type { Config } from '../../config/schema.ts';
import { EXIT } from '../exit-codes.ts';
import { pointInTime } from '../inspect-command.ts';
import type { Finish, Io } from '../io.ts';
import { type SampleFlags, showSample } from '../sample.ts';
import { UsageProblem } from '../usage.ts';

type CheckFlags = Partial<SampleFlags> & { readonly config: string; readonly quiet?: true };

export function checkCommand(io: Io, finish: Finish): Command {
  return new Command('check')
    .summary('check a configuration and show what is in effect')
    .description(
      'Checks a configuration file without touching Kafka or the service. Shows what is in effect, secrets masked; or every problem at once, on standard error, by path.',
    )
    .requiredOption('-c, --config <file>', 'configuration file (YAML)')
    .option('-q, --quiet', 'say nothing when the configuration is right')
    .option(
      '--sample <file>',
      'show what would become of one event: its value is in this file; nobody is asked',
    )
    .option(
      '-p, --pipeline <name>',
      'with --sample, which pipeline; needed when the configuration has several',
    )
    .option('--key <text>', 'with --sample, the key of its record')
    .option(
      '--header <name=value>',
      'with --sample, a header of its record; may be given several times',
      headers,
    )
    .option(
      '--timestamp <time>',
      'with --sample, the time of its record, ISO 8601; now by default',
      pointInTime,
    )
    .option('--json', 'with --sample, one JSON document, for machines')
    .addHelpText(
      'after',
      `
Examples:
  $ content-review-connector check --config config/example.yaml
  $ content-review-connector check -q -c connector.yaml && echo deploy
  $ content-review-connector check -c connector.yaml --sample event.json --key user-7 --header lang=en

With --sample it shows the CSV row and the decision that the event would become, with a result that is made up; or why it would be
skipped or become a dead letter, with exit code 11.`,
    )
    .action(async ({ config, quiet, sample, ...about }: CheckFlags) => {
      const [without] = Object.keys(about);
      if (sample === undefined && without !== undefined)
        throw new UsageProblem(`--${without} goes with --sample`);
      const loaded = await loadConfig(config, io.env, { withoutServiceKey: sample !== undefined });
      if (sample !== undefined) return await showSample(io, finish, loaded, { sample, ...about });
      if (quiet !== true) io.out(summary(config, loaded));
      finish(EXIT.ok);
    });
}

/** For each pipeline the way of its records, then every option. */
function summary(file: string, config: Config): string {
  const count = config.pipelines.length;
  const lines = [`${file} is right: ${count} pipeline${count === 1 ? '' : 's'}.`, ''];
  for (const { name, kind, source, journal, output, deadLetters } of config.pipelines) {
    lines.push(`Pipeline ${name} (${kind})`);
    lines.push(`  ${source.topic} -> ${output.topic}, or ${deadLetters.topic}`);
    lines.push(`  group ${source.group}, journal ${journal.topic}`, '');
  }
  const options = effectiveOptions(config);
  const width = Math.max(...options.map(({ path }) => path.length));
  lines.push(
    'In effect:',
    ...options.map(({ path, value }) => `  ${path.padEnd(width)}  ${value}`),
  );
  return `${lines.join('\n')}\n`;
}

function headers(
  text: string,
  before: (readonly [string, string])[] = [],
): (readonly [string, string])[] {
  const at = text.indexOf('=');
  if (at < 1) throw new InvalidArgumentError('A header is NAME=VALUE.');
  return [...before, [text.slice(0, at), text.slice(at + 1)]];
}

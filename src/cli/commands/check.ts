import { readFile } from 'node:fs/promises';
import { type Command, InvalidArgumentError } from 'commander';
import { systemReason } from '../../../packages/client/src/base/shown-text.ts';
import { CommandFailed, EXIT } from '../../../packages/client/src/cli/exit-codes.ts';
import { helpText, type Io } from '../../../packages/client/src/cli/io.ts';
import { counted, facts, printableLines } from '../../../packages/client/src/cli/text.ts';
import type { SampleOutcome } from '../../app/tools/sample.ts';
import { effectiveOptions, inlineSecrets } from '../../config/effective.ts';
import { loadConfig } from '../../config/load.ts';
import type { Config, PipelineConfig } from '../../config/schema.ts';
import type { ContentItem } from '../../core/record.ts';
import { configOption, pipelineNamed, several } from '../tool-options.ts';

interface CheckFlags {
  readonly config: string;
  readonly sample?: string;
  readonly pipeline?: string;
  readonly key?: string;
  readonly header?: readonly (readonly [string, string])[];
}

export function checkCommand(program: Command, io: Io): void {
  configOption(program.command('check'))
    .summary('check a configuration and show the effective options')
    .description(
      'Checks a configuration file without connecting to Kafka or the service. Shows the configuration in effect, with secrets masked and a * at each value that differs from the default. If it is invalid, lists all problems on standard error, in the order of the file.',
    )
    .option(
      '--sample <file>',
      'show the outcome of the event whose value is in this file; nothing is sent',
    )
    .option('-p, --pipeline <name>', 'with --sample: the pipeline; required if there are several')
    .option('--key <text>', 'with --sample: key of the record')
    .option(
      '--header <name=value>',
      'with --sample: header of the record; repeatable',
      several(header),
    )
    .addHelpText(
      'after',
      helpText(
        [
          'check -c connector.yaml > /dev/null && echo deploy',
          'check -c connector.yaml --sample event.json --key user-7 --header lang=en',
        ],
        'With --sample it shows the CSV row of the event, or why the event would be skipped or become a dead letter (exit code 5).',
      ),
    )
    .action(async (flags: CheckFlags) => {
      const { config: file, sample } = flags;
      if (sample !== undefined) return await showSample(io, flags, sample);
      const config = await loadConfig(file, io.env);
      io.out(summary(file, config));
      for (const option of inlineSecrets(config))
        io.err(
          `\nwarning: ${option} is written in plain text in ${file}: use {env: NAME} or {file: PATH}\n`,
        );
    });
}

/** Returns the topics of each pipeline, followed by every option. */
function summary(file: string, config: Config): string {
  const pipelines = config.pipelines.map(
    ({ name, kind, source, journal, output, deadLetters }) =>
      `Pipeline ${name} (${kind})
  ${source.topic} -> ${output.topic}, or ${deadLetters.topic}
  group ${source.group}, journal ${journal.topic}
`,
  );
  const options = effectiveOptions(config).map(
    ({ path, value, isSet }) => [`${isSet ? '*' : ' '} ${path}`, value] as const,
  );
  return [
    `${file} is valid: ${counted(config.pipelines.length, 'pipeline')}.\n`,
    ...pipelines,
    `In effect (* differs from the default):\n${facts(options)}`,
  ].join('\n');
}

function header(text: string): readonly [string, string] {
  const at = text.indexOf('=');
  if (at < 1) throw new InvalidArgumentError('A header must have the form NAME=VALUE.');
  return [text.slice(0, at), text.slice(at + 1)];
}

/** Shows the outcome of a record. Exit code 5 if the record is not accepted. @throws CommandFailed, ConfigError */
async function showSample(io: Io, flags: CheckFlags, file: string): Promise<void> {
  const config = await loadConfig(flags.config, io.env, { withoutServiceKey: true });
  const pipeline = pipelineNamed(config, flags.pipeline);
  const bytes = await readFile(file).catch((error) => {
    throw new CommandFailed(`the sample ${file} cannot be read: ${systemReason(error)}`);
  });
  // Editors end a file with a line break, which is not part of the content.
  const value =
    pipeline.source.format === 'text' && bytes.at(-1) === 0x0a ? bytes.subarray(0, -1) : bytes;
  // Loaded late, so that problems of the configuration are reported without loading heavy modules.
  const { trySample } = await import('../../app/tools/sample.ts');
  const { key, header: headers = [] } = flags;
  const { notes, result } = await trySample(pipeline, { value, key, headers });
  const isAccepted = result.outcome === 'accepted';
  const about = `Sample ${file}, pipeline ${pipeline.name} (${pipeline.kind})`;
  const upload = isAccepted
    ? ['', `${UPLOADS[pipeline.kind]}:`, '', result.upload.replaceAll('\r\n', '\n').trimEnd()]
    : [];
  const published = isAccepted ? publishedWith(result.item) : [];
  const lines = [`${about}: ${verdict(pipeline, result)}`, ...notes, ...published, ...upload];
  io.out(printableLines(`${lines.join('\n')}\n`));
  io.finish(isAccepted ? EXIT.ok : EXIT.problems);
}

function verdict({ kind, deadLetters }: PipelineConfig, result: SampleOutcome): string {
  if (result.outcome === 'skipped')
    return `it would be skipped (${result.reason}), with no terminal record.`;
  if (result.outcome === 'dead_letter')
    return `it would become a dead letter on ${deadLetters.topic}.\n${result.reason}: ${result.message}`;
  if (kind === 'review') return `it would be reviewed, as type ${result.item.type}.`;
  return kind === 'import' ? 'it would be imported.' : 'it would be looked up.';
}

/** Returns the key and headers of the decision, if the configuration maps them. */
function publishedWith({ outputKey, headers }: ContentItem): string[] {
  return [
    ...(outputKey === undefined ? [] : [`key of the decision: ${outputKey ?? 'none'}`]),
    ...headers.map(([name, header]) => `header of the decision: ${name}=${header}`),
  ];
}

/** Headings of the upload by kind. */
const UPLOADS: Readonly<Record<PipelineConfig['kind'], string>> = {
  review: 'CSV file of the event alone',
  import: 'Line of the file',
  lookup: 'Request',
};

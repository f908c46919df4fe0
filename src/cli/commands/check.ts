import { readFile } from 'node:fs/promises';
import { type Command, InvalidArgumentError } from 'commander';
import { CommandFailed, EXIT, systemReason } from '../../../packages/client/src/cli/exit-codes.ts';
import { helpText, type Io } from '../../../packages/client/src/cli/io.ts';
import { counted, facts, jsonText } from '../../../packages/client/src/cli/text.ts';
import type { PublishedSample, SampleAnswer, SampleOutcome } from '../../app/tools/sample.ts';
import { effectiveOptions, inlineSecrets } from '../../config/effective.ts';
import { loadConfig, parseConfig } from '../../config/load.ts';
import type { Config, PipelineConfig } from '../../config/schema.ts';
import { pipelineNamed, pointInTime, printAnswer, several } from '../tool-options.ts';

type CheckFlags = Partial<SampleFlags> & {
  readonly config?: string;
  readonly source?: string;
  readonly quiet?: true;
};

export function checkCommand(program: Command, io: Io): void {
  program
    .command('check')
    .option('-c, --config <file>', 'configuration file (YAML); optional with --sample')
    .summary('check a configuration and show what is in effect')
    .description(
      'Checks a configuration file without connecting to Kafka or the service. Shows the configuration in effect, secrets masked and a * at each value that differs from the default; or all problems at once, on standard error, in the order of the file.',
    )
    .option('-q, --quiet', 'print nothing when the configuration is valid')
    .option(
      '--sample <file>',
      'show the outcome of the event whose value is in this file; nothing is sent',
    )
    .option(
      '--source <file>',
      "with --sample, instead of --config: file with the pipeline's options of `source`, such as mapping (YAML); default: none",
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
      helpText(
        [
          'check -q -c connector.yaml && echo deploy',
          'check -c connector.yaml --sample event.json --key user-7 --header lang=en',
          'check --sample event.json --source source.yaml',
        ],
        `With --sample it shows the CSV row and the decision of the event, with an invented result; or the reason for which it would be
skipped or become a dead letter, with exit code 5.`,
      ),
    )
    .action(async ({ config: file, source, quiet, sample, ...record }: CheckFlags) => {
      const given = { ...(source !== undefined && { source }), ...record };
      const [unused] = Object.keys(given);
      if (sample === undefined && unused !== undefined)
        throw new CommandFailed(`--${unused} requires --sample`);
      if (sample !== undefined) {
        await showSample(io, await sampleConfig(io, file, source), { sample, ...record });
        return;
      }
      if (file === undefined)
        throw new CommandFailed("required option '-c, --config <file>' not specified");
      const config = await loadConfig(file, io.env);
      if (quiet === true) return;
      io.out(summary(file, config));
      for (const option of inlineSecrets(config))
        io.err(`\nwarning: ${option} is written in ${file}: use {env: NAME} or {file: PATH}\n`);
    });
}

/** Configuration for samples: the given one, or one with these options of `source` alone. */
async function sampleConfig(
  { env }: Io,
  file: string | undefined,
  source: string | undefined,
): Promise<Config> {
  if (file !== undefined && source !== undefined)
    throw new CommandFailed('--config and --source exclude each other');
  const options = { withoutServiceKey: true, sourceOnly: file === undefined };
  const given = file ?? source;
  return given === undefined
    ? parseConfig('', env, { file: 'the defaults', directory: '.' }, options)
    : await loadConfig(given, env, options);
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
  if (at < 1) throw new InvalidArgumentError('A header is NAME=VALUE.');
  return [text.slice(0, at), text.slice(at + 1)];
}

/** Options of `check --sample`. */
interface SampleFlags {
  readonly sample: string;
  readonly pipeline?: string;
  readonly key?: string;
  readonly header?: readonly (readonly [string, string])[];
  readonly timestamp?: number;
  readonly json?: true;
}

/** Shows the outcome of a record; the exit code is 5 when it is not accepted. @throws CommandFailed */
async function showSample(io: Io, config: Config, flags: SampleFlags): Promise<void> {
  const { sample, key, header: headers = [], timestamp: timestampMs = Date.now() } = flags;
  const pipeline = pipelineNamed(config, flags.pipeline);
  const bytes = await readFile(sample).catch((error) => {
    throw new CommandFailed(`the sample ${sample} cannot be read: ${systemReason(error)}`);
  });
  // Editors end a file with a line end, which is no part of a text.
  const value =
    pipeline.source.format === 'text' && bytes.at(-1) === 0x0a ? bytes.subarray(0, -1) : bytes;
  // Loaded late: a wrong configuration is reported before anything heavy starts.
  const { trySample, INVENTED_RESULT } = await import('../../app/tools/sample.ts');
  const answer = await trySample(pipeline, { value, key, headers, timestampMs });
  const text = forPeople(sample, pipeline.name, answer, INVENTED_RESULT);
  printAnswer(io, flags.json, forMachines(pipeline.name, answer), text);
  io.finish(answer.result.outcome === 'accepted' ? EXIT.ok : EXIT.problems);
}

/** The published value is JSON already. */
function forMachines(pipeline: string, { kind, notes, result }: SampleAnswer): string {
  const about = { pipeline, kind, notes, ...result };
  if (result.outcome !== 'accepted') return JSON.stringify(about);
  const { value, ...published } = result.published;
  return jsonText(
    { ...about, published: undefined },
    { published: jsonText(published, { value }) },
  );
}

function forPeople(
  file: string,
  name: string,
  { kind, notes, result }: SampleAnswer,
  invented: string,
): string {
  const lines = [`Sample ${file}, pipeline ${name} (${kind}): ${verdict(kind, result)}`, ...notes];
  if (result.outcome === 'accepted') {
    const [upload, terminal] = HEADINGS[kind];
    const status = kind === 'import' ? 'COMPLETE' : invented;
    lines.push(
      ...['', `${upload}:`, '', result.upload.replaceAll('\r\n', '\n').trimEnd(), ''],
      ...[`${terminal}, for an invented response ${status} of the service:`, ''],
      ...publishedLines(result.published),
    );
  }
  return `${lines.join('\n')}\n`;
}

function verdict(kind: PipelineConfig['kind'], result: SampleOutcome): string {
  if (result.outcome === 'skipped')
    return `it would be skipped (${result.reason}), with no terminal record.`;
  if (result.outcome === 'dead_letter')
    return `it would become a dead letter on ${result.topic}.\n${result.reason}: ${result.message}`;
  if (kind === 'review') return `it would be reviewed, as type ${result.type ?? ''}.`;
  return kind === 'import' ? 'it would be imported.' : 'it would be looked up.';
}

/** Headings of the upload and of the terminal record. */
const HEADINGS: Readonly<Record<PipelineConfig['kind'], readonly [string, string]>> = {
  review: ['CSV file of the event alone', 'Decision'],
  import: ['Line of the file', 'Receipt'],
  lookup: ['Request', 'Published record'],
};

function publishedLines({ topic, key, headers, value }: PublishedSample): string[] {
  return [
    `topic    ${topic}`,
    `key      ${key ?? '(none)'}`,
    ...Object.entries(headers).map(
      ([name, text], index) => `${index === 0 ? 'headers' : '       '}  ${name}: ${text}`,
    ),
    `value    ${value}`,
  ];
}

/** `check --sample`: one event through the mapping of a pipeline. */
import { readFile } from 'node:fs/promises';
import type { PublishedSample, SampleAnswer, SampleOutcome } from '../app/tools/sample.ts';
import type { Config, PipelineConfig } from '../config/schema.ts';
import { CommandFailed, systemReason } from './command-failed.ts';
import { EXIT } from './exit-codes.ts';
import type { Io } from './io.ts';
import { jsonText, printableJson, printableLines } from './printable.ts';
import { pipelineNamed } from './tool-options.ts';

/** Options of `check --sample`. */
export interface SampleFlags {
  readonly sample: string;
  readonly pipeline?: string;
  readonly key?: string;
  readonly header?: readonly (readonly [string, string])[];
  readonly timestamp?: number;
  readonly json?: true;
}

/** Shows the outcome of a record; the exit code is 11 when it is not accepted. @throws CommandFailed */
export async function showSample(io: Io, config: Config, flags: SampleFlags): Promise<void> {
  const { sample, key, header: headers = [], timestamp: timestampMs = Date.now() } = flags;
  const pipeline = pipelineNamed(config, flags.pipeline);
  const bytes = await readFile(sample).catch((error) => {
    throw new CommandFailed(`the sample ${sample} cannot be read: ${systemReason(error)}`);
  });
  // Editors end a file with a line end, which is no part of a text.
  const value =
    pipeline.source.format === 'text' && bytes.at(-1) === 0x0a ? bytes.subarray(0, -1) : bytes;
  // Loaded late: a wrong configuration is reported before anything heavy starts.
  const { trySample, INVENTED_RESULT } = await import('../app/tools/sample.ts');
  const answer = await trySample(pipeline, { value, key, headers, timestampMs });
  if (flags.json === true) io.out(`${printableJson(forMachines(pipeline.name, answer))}\n`);
  else io.out(printableLines(forPeople(sample, pipeline.name, answer, INVENTED_RESULT)));
  io.finish(answer.result.outcome === 'accepted' ? EXIT.ok : EXIT.notTaken);
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

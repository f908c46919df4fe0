/** `check --sample`: one event through the mapping of a pipeline, shown. */
import { createReadStream } from 'node:fs';
import type { PublishedSample, SampleAnswer, SampleOutcome } from '../app/tools/sample.ts';
import { choosePipeline } from '../config/choose-pipeline.ts';
import type { Config, PipelineConfig } from '../config/schema.ts';
import { EXIT } from './exit-codes.ts';
import type { Finish, Io } from './io.ts';
import { printableJson, printableLines } from './printable.ts';
import { UsageProblem } from './usage.ts';

export interface SampleFlags {
  readonly sample: string;
  readonly pipeline?: string;
  readonly key?: string;
  readonly header?: readonly (readonly [string, string])[];
  readonly timestamp?: number;
  readonly json?: true;
}

/** The code says whether the record would be taken. @throws UsageProblem; what reading the file throws */
export async function showSample(
  io: Io,
  finish: Finish,
  config: Config,
  flags: SampleFlags,
): Promise<void> {
  const chosen = choosePipeline(config, flags.pipeline);
  if (!chosen.ok) throw new UsageProblem(chosen.error);
  const pipeline = chosen.value;
  const bytes = await sampleFile(flags.sample);
  // Editors end a file with a line end; a text has none that nobody wrote.
  const value =
    pipeline.source.format === 'text' && bytes.at(-1) === 0x0a ? bytes.subarray(0, -1) : bytes;
  // Loaded late: a wrong configuration is reported before anything heavy starts.
  const { trySample, INVENTED_RESULT } = await import('../app/tools/sample.ts');
  const answer = await trySample(pipeline, {
    value,
    key: flags.key,
    headers: flags.header ?? [],
    timestampMs: flags.timestamp ?? Date.now(),
  });
  if (flags.json === true) io.out(`${printableJson(forMachines(pipeline.name, answer))}\n`);
  else io.out(printableLines(forPeople(flags.sample, pipeline.name, answer, INVENTED_RESULT)));
  finish(answer.result.outcome === 'accepted' ? EXIT.ok : EXIT.notTaken);
}

/** The value is put in as it is: numbers keep their digits. */
function forMachines(name: string, { kind, notes, result }: SampleAnswer): string {
  if (result.outcome !== 'accepted')
    return JSON.stringify({ pipeline: name, kind, notes, ...result });
  const { published, ...rest } = result;
  const { value, ...about } = published;
  const [outer, inner] = [
    JSON.stringify({ pipeline: name, kind, notes, ...rest }),
    JSON.stringify(about),
  ];
  return `${outer.slice(0, -1)},"published":${inner.slice(0, -1)},"value":${value}}}`;
}

function forPeople(
  file: string,
  name: string,
  { kind, notes, result }: SampleAnswer,
  invented: string,
): string {
  const lines = [`Sample ${file}, pipeline ${name} (${kind}): ${verdict(kind, result)}`, ...notes];
  if (result.outcome === 'accepted') {
    lines.push('', `${UPLOADS[kind]}:`, '', result.upload.replaceAll('\r\n', '\n').trimEnd(), '');
    lines.push(
      `${TERMINALS[kind]}, had the service answered ${kind === 'import' ? 'COMPLETE' : invented} (that is made up):`,
      '',
    );
    lines.push(...publishedLines(result.published));
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

const UPLOADS = {
  review: 'The CSV file, if it went alone',
  import: 'Its line of the file',
  lookup: 'The question',
} as const satisfies Record<PipelineConfig['kind'], string>;
const TERMINALS = {
  review: 'Its decision',
  import: 'Its receipt',
  lookup: 'What is published',
} as const satisfies Record<PipelineConfig['kind'], string>;

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

/** Far more than a record of Kafka has. */
const MAX_SAMPLE_BYTES = 64 * 1024 * 1024;
const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EISDIR: 'it is a directory',
  EACCES: 'this user may not read it',
};

/** @throws UsageProblem */
async function sampleFile(file: string): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of createReadStream(file) as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > MAX_SAMPLE_BYTES)
        throw new Error(`a sample has at most ${MAX_SAMPLE_BYTES} bytes`);
      chunks.push(chunk);
    }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new UsageProblem(`the sample ${file} cannot be read: ${REASONS[code ?? ''] ?? message}`);
  }
  return Buffer.concat(chunks);
}

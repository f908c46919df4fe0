/** Options and values that the commands for pipelines share. */
import { type Command, InvalidArgumentError } from 'commander';
import {
  CommandFailed,
  EXIT,
  type ExitCode,
  interruptible,
} from '../../packages/client/src/cli/exit-codes.ts';
import type { Io } from '../../packages/client/src/cli/io.ts';
import { CommandProgress } from '../../packages/client/src/cli/progress.ts';
import { printableJson, printableLines, sentence } from '../../packages/client/src/cli/text.ts';
import type { Tools } from '../app/tools/inspect.ts';
import { type LoadOptions, loadConfig } from '../config/load.ts';
import { type Config, choosePipeline, type PipelineConfig } from '../config/schema.ts';
import { durationOf } from '../config/units.ts';
import { DEAD_LETTER_REASONS } from '../core/outcome/dead-letter-reason.ts';
import type { SourceCoordinate } from '../core/record.ts';

/** Options that every tool has. */
export interface ToolFlags {
  readonly config: string;
  readonly pipeline?: string;
  readonly json?: true;
}

/** Adds the option for the configuration file. */
export const configOption = (
  command: Command,
  description = 'configuration file (YAML)',
): Command => command.requiredOption('-c, --config <file>', description);

/** Adds the options that every tool has. @param page page that describes the JSON document */
export const toolOptions = (
  command: Command,
  pipeline = 'pipeline; required when the configuration has several',
  page = 'docs/tools.md',
): Command =>
  configOption(command)
    .option('-p, --pipeline <name>', pipeline)
    .option('--json', `print a JSON document (${page})`);

/** Prints the result of a command. */
export function printAnswer(io: Io, isJson: true | undefined, json: string, text: string): void {
  io.out(isJson === true ? `${printableJson(json)}\n` : printableLines(text));
}

/**
 * Runs a tool. The result goes to standard output as text or JSON, notices go to standard error.
 * @param codeOf returns the exit code for a result; default 0
 * @throws ConfigError, InspectError
 */
export async function runTool<T extends object>(
  io: Io,
  flags: ToolFlags,
  work: (tools: Tools, progress: CommandProgress) => Promise<T>,
  text: (answer: T, nowMs: number) => string,
  codeOf: (answer: T) => ExitCode = () => EXIT.ok,
): Promise<void> {
  const { pipeline } = flags;
  const config = await loadConfig(flags.config, io.env, { withoutServiceKey: true });
  // Loaded late, so that problems of the configuration are reported without loading heavy modules.
  const { withPipeline } = await import('../app/tools/inspect.ts');
  const progress = new CommandProgress(io);
  const notice = (text: string) => progress.note(sentence(text));
  const [name, answer] = await withPipeline(
    config,
    { pipeline, notice },
    async (tools) => [tools.pipeline.name, await work(tools, progress)] as const,
  ).finally(() => progress.clear());
  const json = JSON.stringify({ pipeline: name, ...answer });
  printAnswer(io, flags.json, json, text(answer, Date.now()));
  io.finish(codeOf(answer));
}

/**
 * Loads a configuration, and runs `work` on one pipeline or on all, until a signal. `work` must
 * import heavy modules itself, so that problems of the configuration are reported first.
 * @throws ConfigError, CommandFailed
 */
export async function onPipelines(
  io: Io,
  { config: file, pipeline }: ToolFlags,
  work: (
    config: Config,
    pipelines: readonly PipelineConfig[],
    signal: AbortSignal,
  ) => Promise<ExitCode>,
  options: LoadOptions = { withoutServiceKey: true },
): Promise<void> {
  const config = await loadConfig(file, io.env, options);
  const pipelines = pipeline === undefined ? config.pipelines : [pipelineNamed(config, pipeline)];
  await interruptible(async (signal) => io.finish(await work(config, pipelines, signal)));
}

/** Returns the named pipeline, or the only one if there is no name. @throws CommandFailed */
export function pipelineNamed(config: Config, name: string | undefined): PipelineConfig {
  const chosen = choosePipeline(config, name);
  if (!chosen.ok) throw new CommandFailed(chosen.error);
  return chosen.value;
}

/** Parses PARTITION:OFFSET. */
export function coordinate(text: string): SourceCoordinate {
  const match = /^(\d{1,10}):(\d{1,15})$/.exec(text);
  if (match === null)
    throw new InvalidArgumentError('Name a record as PARTITION:OFFSET, such as 2:1371.');
  return { partition: Number(match[1]), offset: Number(match[2]) };
}

/** Returns a parser for an option or argument that may be repeated. */
export const several =
  <T>(parse: (text: string) => T) =>
  (text: string, before: readonly T[] = []): readonly T[] => [...before, parse(text)];

/** Returns a parser for a whole number. @param what subject of the error message */
export function wholeNumber(
  what: string,
  min = 0,
  max = Number.MAX_SAFE_INTEGER,
): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d{1,16}$/.test(text) && value >= min && value <= max) return value;
    const end = max === Number.MAX_SAFE_INTEGER ? '' : ` to ${max}`;
    throw new InvalidArgumentError(`${what} must be a whole number from ${min}${end}.`);
  };
}

/** Parses the reason of a dead letter. */
export function letterReason(text: string): string {
  if (DEAD_LETTER_REASONS.some((reason) => reason === text)) return text;
  throw new InvalidArgumentError(`The reason must be one of ${DEAD_LETTER_REASONS.join(', ')}.`);
}

/** Parses `2026-11-21T10:00:00Z`, `2026-11-21`, or an age such as `15m`. Returns milliseconds since the epoch. */
export function pointInTime(text: string): number {
  const age = durationOf(text);
  if (age !== undefined) return Date.now() - age;
  const isDate = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})?)?$/.test(
    text,
  );
  const ms = isDate ? Date.parse(text) : NaN;
  if (Number.isNaN(ms))
    throw new InvalidArgumentError(
      'A time must be ISO 8601 (2026-11-21T10:00:00Z), or an age (15m, 2h, 1d).',
    );
  return ms;
}

/** Parses a duration. Returns milliseconds. */
export function duration(text: string): number {
  const ms = durationOf(text) ?? 0;
  if (ms === 0) throw new InvalidArgumentError('A duration needs a unit: 30s, 15m, 2h.');
  return ms;
}

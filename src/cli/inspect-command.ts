/** What the tools that look at a pipeline have in common: options, exit codes, ways to write a time or a place. */
import { type Command, InvalidArgumentError } from 'commander';
import type { Tools } from '../app/tools/inspect.ts';
import { nearest } from '../base/nearest.ts';
import { loadConfig } from '../config/load/load.ts';
import { durationOf } from '../config/units.ts';
import { DEAD_LETTER_REASONS } from '../core/record.ts';
import { InspectError } from '../tools/inspect/context.ts';
import { EXIT } from './exit-codes.ts';
import type { Finish, Io } from './io.ts';
import { printable, printableLines } from './printable.ts';

/** Characters of what is told in a sentence. */
const MAX_SENTENCE = 2_000;

export interface InspectFlags {
  readonly config: string;
  readonly pipeline?: string;
  readonly json?: true;
  readonly service?: boolean;
}

/** Adds the options that every tool has. */
export function inspectOptions(command: Command): Command {
  return command
    .requiredOption('-c, --config <file>', 'configuration file (YAML) that the pipeline runs with')
    .option('-p, --pipeline <name>', 'which pipeline; needed when the configuration has several')
    .option('--json', 'one JSON document, for machines (docs/tools.md)');
}

/**
 * Runs a tool: its answer goes to standard output, as text or JSON, what it does meanwhile to standard error.
 * @param work returns the answer, and the exit code that it means.
 */
export async function runTool<T extends object>(
  io: Io,
  finish: Finish,
  flags: InspectFlags,
  work: (tools: Tools) => Promise<{ readonly answer: T; readonly code?: number }>,
  text: (answer: T, nowMs: number) => string,
): Promise<void> {
  try {
    const config = await loadConfig(flags.config, io.env, {
      withoutServiceKey: flags.service !== true,
    });
    // Loaded late: a wrong configuration is reported before anything heavy starts.
    const { withPipeline } = await import('../app/tools/inspect.ts');
    const options = {
      pipeline: flags.pipeline,
      service: flags.service ?? false,
      notice: (notice: string) => io.err(`${printable(notice, MAX_SENTENCE)}\n`),
    };
    const { name, answer, code } = await withPipeline(config, options, async (tools) => ({
      name: tools.pipeline.name,
      ...(await work(tools)),
    }));
    io.out(
      flags.json === true
        ? `${JSON.stringify({ pipeline: name, ...answer })}\n`
        : printableLines(text(answer, Date.now())),
    );
    finish(code ?? EXIT.ok);
  } catch (error) {
    if (!(error instanceof InspectError)) throw error;
    io.err(`${printable(error.message, MAX_SENTENCE)}\n`);
    finish(EXIT[error.failure]);
  }
}

/** `PARTITION:OFFSET`. */
export function coordinate(text: string): { readonly partition: number; readonly offset: number } {
  const match = /^(\d{1,10}):(\d{1,15})$/.exec(text);
  if (match === null)
    throw new InvalidArgumentError('A record is named PARTITION:OFFSET, such as 2:1371.');
  return { partition: Number(match[1]), offset: Number(match[2]) };
}

/** Several of them, one argument each. */
export function coordinates(
  text: string,
  before: ReturnType<typeof coordinate>[] = [],
): ReturnType<typeof coordinate>[] {
  return [...before, coordinate(text)];
}

/** A whole number from 0; `what` begins the complaint. */
export function wholeNumber(what: string, min = 0): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^\d{1,16}$/.test(text) || !Number.isSafeInteger(value) || value < min)
      throw new InvalidArgumentError(`${what} is a whole number from ${min}.`);
    return value;
  };
}

/** Several reasons of dead letters, given one by one. */
export function letterReasons(text: string, before: string[] = []): string[] {
  if (!DEAD_LETTER_REASONS.some((reason) => reason === text)) {
    const meant = nearest(text, DEAD_LETTER_REASONS);
    const hint =
      meant === undefined
        ? `There are: ${DEAD_LETTER_REASONS.join(', ')}.`
        : `Did you mean ${meant}?`;
    throw new InvalidArgumentError(`No dead letter has this reason. ${hint}`);
  }
  return [...before, text];
}

/** Several partitions, given one by one. */
export function partitionNumbers(text: string, before: number[] = []): number[] {
  return [...before, wholeNumber('A partition')(text)];
}

/** Milliseconds since the epoch of `2026-11-21T10:00:00Z`, `2026-11-21`, or a length of time before now: `15m`, `2d`. */
export function pointInTime(text: string): number {
  const duration = durationOf(text);
  if (duration !== undefined) return Date.now() - duration;
  const ms = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})?)?$/.test(text)
    ? Date.parse(text)
    : Number.NaN;
  if (Number.isNaN(ms))
    throw new InvalidArgumentError(
      'A time is ISO 8601 (2026-11-21T10:00:00Z), or a length of time before now (15m, 2h, 1d).',
    );
  return ms;
}

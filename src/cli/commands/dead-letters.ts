import { Argument, Command } from 'commander';
import type { Tools } from '../../app/tools/inspect.ts';
import type { DeadLetterList } from '../../tools/inspect/dead-letters.ts';
import type { ReplayReport, ReplayStatus } from '../../tools/inspect/replay.ts';
import { EXIT } from '../exit-codes.ts';
import {
  type coordinate,
  coordinates,
  type InspectFlags,
  inspectOptions,
  letterReasons,
  pointInTime,
  runTool,
  wholeNumber,
} from '../inspect-command.ts';
import { untilInterrupted } from '../interrupt.ts';
import type { Finish, Io } from '../io.ts';
import { printable } from '../printable.ts';
import { ago, type Cell, counted, table } from '../table.ts';

const DEFAULT_LIMIT = 50;

interface LetterFlags extends InspectFlags {
  readonly reason?: string[];
  readonly since?: number;
  readonly limit: number;
}

export function deadLettersCommand(io: Io, finish: Finish): Command {
  return new Command('dead-letters')
    .summary('list dead letters, or put their originals back')
    .description(
      'Lists the dead letters of a pipeline, or replays them: puts the original records back on a topic, each once.',
    )
    .addCommand(listCommand(io, finish))
    .addCommand(replayCommand(io, finish))
    .addHelpText(
      'after',
      `
Examples:
  $ content-review-connector dead-letters list --config connector.yaml
  $ content-review-connector dead-letters replay --config connector.yaml --reason no_type --to source`,
    );
}

function listCommand(io: Io, finish: Finish): Command {
  const command = new Command('list')
    .summary('list dead letters')
    .description(
      'Lists the newest dead letters, and how many there are for each reason. Never shows content.',
    )
    .addHelpText(
      'after',
      `
Examples:
  $ content-review-connector dead-letters list --config connector.yaml --reason too_large
  $ content-review-connector dead-letters list -c connector.yaml --since 2h --json | jq '.byReason'`,
    )
    .action(async (flags: LetterFlags) => {
      const { listDeadLetters } = await import('../../tools/inspect/dead-letters.ts');
      await runTool(
        io,
        finish,
        flags,
        async (tools) => ({ answer: await listDeadLetters(tools, filterOf(flags), flags.limit) }),
        listText,
      );
    });
  return letterOptions(command, 'letters that are shown, the newest');
}

interface ReplayFlags extends LetterFlags {
  readonly to: string;
  readonly yes?: true;
}

function replayCommand(io: Io, finish: Finish): Command {
  const command = new Command('replay')
    .summary('put the originals of dead letters back on a topic')
    .description(
      'Puts the original key, value and headers of dead letters back on the source or a retry topic. Without --yes it only says what it would do. What was replayed is remembered in <dead letters>.replays, in the same transaction: a second run replays nothing twice, and one that was interrupted goes on.',
    )
    .addArgument(
      new Argument('[partition:offset...]', 'only the letters of these source records')
        .argParser(coordinates)
        .default([], 'all'),
    )
    .requiredOption('--to <topic>', '`source`, or the name of a topic')
    .option('-y, --yes', 'do it')
    .addHelpText(
      'after',
      `
Replay to the source only after the cause is mended: what still cannot be reviewed becomes a dead letter again.

Examples:
  $ content-review-connector dead-letters replay --config connector.yaml --reason type_not_allowed --to source
  $ content-review-connector dead-letters replay --config connector.yaml --reason type_not_allowed --to source --yes
  $ content-review-connector dead-letters replay 2:1371 2:1390 -c connector.yaml --to content-retry --yes`,
    )
    .action(async (at: ReturnType<typeof coordinate>[], flags: ReplayFlags) => {
      const { replayDeadLetters } = await import('../../tools/inspect/replay.ts');
      const write = async (tools: Tools, stop?: AbortSignal) => {
        const answer = await replayDeadLetters(tools, {
          filter: { ...filterOf(flags), sources: at },
          to: flags.to === 'source' ? tools.pipeline.topics.source : flags.to,
          listLimit: flags.limit,
          open: stop === undefined ? undefined : (topic) => tools.openReplay(topic),
          instance: tools.instance,
          ...(stop === undefined ? {} : { stop }),
        });
        return { answer, code: answer.interrupted ? EXIT.interrupted : EXIT.ok };
      };
      const work =
        flags.yes === true
          ? (tools: Tools) => untilStopped(io, (stop) => write(tools, stop))
          : write;
      await runTool(io, finish, flags, (tools) => work(tools), replayText);
    });
  return letterOptions(command, 'letters that are shown; all that match are replayed');
}

/** A transaction that were left open would hold up the readers of its topics: the first signal only asks to stop. */
async function untilStopped<T>(io: Io, work: (stop: AbortSignal) => Promise<T>): Promise<T> {
  const stop = new AbortController();
  const signals = untilInterrupted();
  void signals.interrupted.then(() => {
    io.err('stopping after the transaction under way; once more to end at once\n');
    stop.abort();
  });
  try {
    return await work(stop.signal);
  } finally {
    signals.restore();
  }
}

function letterOptions(command: Command, limit: string): Command {
  return inspectOptions(command)
    .option(
      '--reason <reason>',
      'only letters with this reason (not_json, no_type, ...); may be given several times',
      letterReasons,
    )
    .option(
      '--since <time>',
      'only letters published since: ISO 8601, or a length of time before now (15m, 2h, 1d)',
      pointInTime,
    )
    .option('-n, --limit <count>', limit, wholeNumber('The limit', 1), DEFAULT_LIMIT);
}

function filterOf({ reason, since }: LetterFlags) {
  return { reasons: reason ?? [], sources: [], ...(since === undefined ? {} : { sinceMs: since }) };
}

function listText({ deadLetters, matching, byReason }: DeadLetterList, nowMs: number): string {
  if (matching === 0) return 'No dead letters.\n';
  const rows = deadLetters.map((one): Cell[] => [
    `${one.partition}:${one.offset}`,
    one.reason,
    one.stage,
    ago(one.publishedMs, nowMs),
    one.valueBytes,
    one.replayedMs === null ? null : `${ago(one.replayedMs, nowMs)} ago`,
    `${one.at.partition}:${one.at.offset}`,
    one.message,
  ]);
  const reasons = Object.entries(byReason)
    .sort(([, a], [, b]) => b - a)
    .map(([reason, count]) => `${count} ${printable(reason)}`);
  const shown = deadLetters.length < matching ? `, the newest ${deadLetters.length} shown` : '';
  return [
    table(['RECORD', 'REASON', 'STAGE', 'AGE', 'BYTES', 'REPLAYED', 'LETTER', 'MESSAGE'], rows),
    `${counted(matching, 'dead letter')}${shown}: ${reasons.join(', ')}.\n`,
  ].join('\n');
}

function replayText(report: ReplayReport, nowMs: number): string {
  const { dryRun, to, deadLetters, counts, listCut, interrupted } = report;
  const all = Object.values(counts).reduce((sum, count) => sum + count, 0);
  const unmatched = unmatchedText(report);
  if (all === 0 && !interrupted) return `No dead letters match: nothing to replay.\n${unmatched}`;
  const words: Readonly<Record<ReplayStatus, string>> = {
    replayed: dryRun ? 'would be replayed' : 'replayed',
    replayed_before: 'was replayed before',
    no_value: 'cannot: no value is left',
    too_large_for_target: 'cannot: too large for the target',
  };
  const rows = deadLetters.map((one): Cell[] => [
    `${one.partition}:${one.offset}`,
    one.reason,
    ago(one.publishedMs, nowMs),
    one.valueBytes,
    words[one.status],
  ]);
  const {
    replayed,
    replayed_before: before,
    no_value: gone,
    too_large_for_target: tooLarge,
  } = counts;
  const rest = [
    before > 0 ? `${before} replayed before` : '',
    gone > 0 ? `${gone} without a value left` : '',
    tooLarge > 0 ? `${tooLarge} too large for ${to}` : '',
  ].filter(Boolean);
  const skipped = rest.length === 0 ? '' : ` Left alone: ${rest.join(', ')}.`;
  const done = dryRun
    ? `Dry run: ${counted(replayed, 'record')} would go to ${to}.${skipped}${replayed > 0 ? ' Add --yes to do it.' : ''}`
    : `${interrupted ? 'Interrupted: ' : ''}${counted(replayed, 'record')} put on ${to}.${skipped}${interrupted ? ' Run it again: it goes on from here.' : ''}`;
  const cut = listCut ? `The first ${deadLetters.length} are shown.\n` : '';
  return [
    table(['RECORD', 'REASON', 'AGE', 'BYTES', 'STATUS'], rows),
    `${cut}${unmatched}${done}\n`,
  ].join('\n');
}

function unmatchedText({ unmatched }: ReplayReport): string {
  if (unmatched.length === 0) return '';
  return `Without a dead letter: ${unmatched.map(({ partition, offset }) => `${partition}:${offset}`).join(' ')}.\n`;
}

import { Argument, type Command } from 'commander';
import { EXIT, interruptible } from '../../../packages/client/src/cli/exit-codes.ts';
import { helpText, type Io } from '../../../packages/client/src/cli/io.ts';
import {
  ago,
  counted,
  printable,
  type TableCell,
  table,
} from '../../../packages/client/src/cli/text.ts';
import type { Tools } from '../../app/tools/inspect.ts';
import type { SourceCoordinate } from '../../core/record.ts';
import type { DeadLetterList } from '../../tools/inspect/dead-letters.ts';
import type { ReplayReport, ReplayStatus } from '../../tools/inspect/replay.ts';
import {
  coordinate,
  letterReason,
  pointInTime,
  runTool,
  several,
  type ToolFlags,
  toolOptions,
  wholeNumber,
} from '../tool-options.ts';

const DEFAULT_LIMIT = 50;

interface LetterFlags extends ToolFlags {
  readonly reason?: string[];
  readonly since?: number;
  readonly limit: number;
}

interface ReplayFlags extends LetterFlags {
  readonly to: string;
  readonly yes?: true;
  readonly again?: true;
  readonly rate?: number;
}

export function deadLettersCommand(program: Command, io: Io): void {
  const group = program
    .command('dead-letters')
    .description('list dead letters, or replay them')
    .addHelpText(
      'after',
      helpText([
        'dead-letters list -c connector.yaml --since 2h --reason too_large',
        'dead-letters replay --config connector.yaml --reason no_type --since 2d --to source',
      ]),
    );
  letterOptions(group.command('list'), 'longest list: the newest letters')
    .description(
      'Lists the newest dead letters, and the number of letters for each reason. Never shows content.',
    )
    .action((flags: LetterFlags) => list(io, flags));
  letterOptions(group.command('replay'), 'longest list; all matching letters are replayed')
    .summary('publish the originals of dead letters again')
    .description(
      'Publishes the original key, value and headers of dead letters to the source topic or a retry topic. Without --yes it is a dry run. Nothing is replayed twice: a second run continues an interrupted one. The first one requires --since.',
    )
    .addArgument(
      new Argument('[partition:offset...]', 'only the letters of these source records')
        .argParser(several(coordinate))
        .default([], 'all'),
    )
    .requiredOption('--to <topic>', '`source`, or the name of a topic')
    .option('-y, --yes', 'replay, rather than a dry run')
    .option('--again', 'include letters whose record was replayed before and failed again')
    .option('--rate <records>', 'most records per second', wholeNumber('The rate', 1))
    .addHelpText(
      'after',
      helpText(
        [
          'dead-letters replay --config connector.yaml --reason no_type --since 2d --to source --yes',
          'dead-letters replay 2:1371 2:1390 --since 2d -c connector.yaml --to content-retry --yes',
        ],
        'Remove the cause before you replay to the source, and try a few named records first.',
      ),
    )
    .action((at: SourceCoordinate[], flags: ReplayFlags) => replay(io, at, flags));
}

function letterOptions(command: Command, limit: string): Command {
  return toolOptions(command)
    .option(
      '--reason <reason>',
      'only letters with this reason (not_json, no_type, ...); repeatable',
      several(letterReason),
    )
    .option(
      '--since <time>',
      'only letters published since: ISO 8601, or an age (15m, 2h, 1d)',
      pointInTime,
    )
    .option('-n, --limit <count>', limit, wholeNumber('The limit', 1), DEFAULT_LIMIT);
}

async function list(io: Io, flags: LetterFlags): Promise<void> {
  const { listDeadLetters } = await import('../../tools/inspect/dead-letters.ts');
  const work = (tools: Tools) => listDeadLetters(tools, filterOf(flags, []), flags.limit);
  await runTool(io, flags, work, listText);
}

async function replay(io: Io, at: readonly SourceCoordinate[], flags: ReplayFlags): Promise<void> {
  const { replayDeadLetters } = await import('../../tools/inspect/replay.ts');
  const write = (tools: Tools, stop?: AbortSignal) =>
    replayDeadLetters(tools, {
      filter: filterOf(flags, at),
      to: flags.to === 'source' ? tools.pipeline.topics.source : flags.to,
      listLimit: flags.limit,
      open: stop === undefined ? undefined : (group) => tools.openReplay(group),
      again: flags.again,
      rate: flags.rate,
      stop,
    });
  // An open transaction would block the readers of its topics, so the first signal only requests the stop.
  const writeUntilStopped = (tools: Tools) =>
    interruptible(async (stop) => {
      stop.addEventListener('abort', () =>
        io.err('stopping after the current transaction; repeat the signal to end at once\n'),
      );
      return await write(tools, stop);
    });
  const work = flags.yes === true ? writeUntilStopped : (tools: Tools) => write(tools);
  await runTool(io, flags, work, replayText, ({ interrupted }) =>
    interrupted ? EXIT.interrupted : EXIT.ok,
  );
}

const filterOf = (
  { reason: reasons = [], since: sinceMs }: LetterFlags,
  sources: readonly SourceCoordinate[],
) => ({ reasons, sources, sinceMs });

function listText({ deadLetters, matching, byReason }: DeadLetterList, nowMs: number): string {
  if (matching === 0) return 'No dead letters.\n';
  const rows = deadLetters.map((one): TableCell[] => [
    `${one.partition}:${one.offset}`,
    one.reason,
    one.stage,
    ago(one.publishedMs, nowMs),
    one.valueBytes,
    one.replayed ? 'yes' : null,
    `${one.at.partition}:${one.at.offset}`,
    one.message,
  ]);
  const reasons = Object.entries(byReason)
    .sort(([, a], [, b]) => b - a)
    .map(([reason, count]) => `${count} ${printable(reason)}`);
  const shown = deadLetters.length < matching ? `, the newest ${deadLetters.length} shown` : '';
  return [
    table('RECORD REASON STAGE AGE BYTES REPLAYED LETTER MESSAGE'.split(' '), rows),
    `${counted(matching, 'dead letter')}${shown}: ${reasons.join(', ')}.\n`,
  ].join('\n');
}

function replayText(report: ReplayReport, nowMs: number): string {
  const { dryRun, to, deadLetters, counts, interrupted, unmatched } = report;
  const missing =
    unmatched.length === 0
      ? ''
      : `Without a dead letter: ${unmatched.map(({ partition, offset }) => `${partition}:${offset}`).join(' ')}.\n`;
  const all = Object.values(counts).reduce((sum, count) => sum + count, 0);
  if (all === 0 && !interrupted) return `No dead letters match: nothing to replay.\n${missing}`;

  const statuses: Readonly<Record<ReplayStatus, readonly [string, string]>> = {
    replayed: [dryRun ? 'would be replayed' : 'replayed', ''],
    replayed_before: ['was replayed before', 'replayed before'],
    failed_again: ['failed again after a replay', 'failed again after a replay (--again)'],
    no_value: ['cannot: its value is gone', 'without a value'],
    too_large_for_target: ['cannot: too large for the target', `too large for ${to}`],
  };
  const rows = deadLetters.map((one): TableCell[] => [
    `${one.partition}:${one.offset}`,
    one.reason,
    ago(one.publishedMs, nowMs),
    one.valueBytes,
    statuses[one.status][0],
  ]);
  const { replayed, ...left } = counts;
  const skipped = (Object.keys(left) as (keyof typeof left)[])
    .filter((status) => counts[status] > 0)
    .map((status) => `${counts[status]} ${statuses[status][1]}`);
  const sentences = [
    dryRun
      ? `Dry run: ${counted(replayed, 'record')} would go to ${to}.`
      : `${interrupted ? 'Interrupted: ' : ''}${counted(replayed, 'record')} published to ${to}.`,
    skipped.length === 0 ? '' : `Skipped: ${skipped.join(', ')}.`,
    dryRun && replayed > 0 ? 'Add --yes to replay.' : '',
    interrupted ? 'Run it again to continue.' : '',
  ].filter(Boolean);
  const cut = report.listCut ? `The first ${deadLetters.length} are shown.\n` : '';
  return [
    table('RECORD REASON AGE BYTES STATUS'.split(' '), rows),
    `${cut}${sentences.join(' ')}\n${missing}`,
  ].join('\n');
}

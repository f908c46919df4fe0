import { Argument, type Command } from 'commander';
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
}

interface ListFlags extends LetterFlags {
  readonly limit: number;
}

interface ReplayFlags extends LetterFlags {
  readonly to: string;
  readonly yes?: true;
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
  letterOptions(group.command('list'))
    .option(
      '-n, --limit <count>',
      'maximum number of letters to list, from the newest',
      wholeNumber('The limit', 1),
      DEFAULT_LIMIT,
    )
    .description(
      'Lists the newest dead letters, and the number of letters for each reason. Never shows content.',
    )
    .action((flags: ListFlags) => list(io, flags));
  letterOptions(group.command('replay'))
    .summary('publish the originals of dead letters again')
    .description(
      'Publishes the original key, value and headers of dead letters to the source topic or a retry topic. Without --yes it is a dry run. No letter is replayed twice, and a second run continues an interrupted one. The first replay requires --since.',
    )
    .addArgument(
      new Argument('[partition:offset...]', 'replays only the letters of these source records')
        .argParser(several(coordinate))
        .default([], 'all'),
    )
    .requiredOption('--to <topic>', '`source`, or the name of a topic')
    .option('-y, --yes', 'replay the letters (default: dry run)')
    .addHelpText(
      'after',
      helpText(
        [
          'dead-letters replay --config connector.yaml --reason no_type --since 2d --to source --yes',
          'dead-letters replay 2:1371 2:1390 --since 2d -c connector.yaml --to content-retry --yes',
        ],
        'Before you replay to the source, remove the cause and try a few records by their coordinates.',
      ),
    )
    .action((at: SourceCoordinate[], flags: ReplayFlags) => replay(io, at, flags));
}

function letterOptions(command: Command): Command {
  return toolOptions(command)
    .option(
      '--reason <reason>',
      'only letters with this reason (not_json, no_type, ...); repeatable',
      several(letterReason),
    )
    .option(
      '--since <time>',
      'only letters published since this time: ISO 8601, or an age (15m, 2h, 1d)',
      pointInTime,
    );
}

async function list(io: Io, flags: ListFlags): Promise<void> {
  const { listDeadLetters } = await import('../../tools/inspect/dead-letters.ts');
  const work = (tools: Tools) => listDeadLetters(tools, filterOf(flags, []), flags.limit);
  await runTool(io, flags, work, listText);
}

async function replay(io: Io, at: readonly SourceCoordinate[], flags: ReplayFlags): Promise<void> {
  const { replayDeadLetters } = await import('../../tools/inspect/replay.ts');
  const isDryRun = flags.yes !== true;
  await runTool(
    io,
    flags,
    (tools, progress) =>
      replayDeadLetters(tools, {
        filter: filterOf(flags, at),
        to: flags.to === 'source' ? tools.pipeline.topics.source : flags.to,
        open: isDryRun ? undefined : (group) => tools.openReplay(group),
        onProgress: (replayed) => progress.show(() => `${counted(replayed, 'record')} so far`),
      }),
    replayText,
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

const SKIPPED = {
  replayed_before: 'replayed before',
  no_value: 'without a value',
  too_large_for_target: 'larger than max.message.bytes of the target',
} as const satisfies Readonly<Record<Exclude<ReplayStatus, 'replayed'>, string>>;

function replayText({ dryRun, to, counts }: ReplayReport): string {
  const skipped = (Object.keys(SKIPPED) as (keyof typeof SKIPPED)[])
    .filter((status) => counts[status] > 0)
    .map((status) => `${counts[status]} ${SKIPPED[status]}`);
  const records = counted(counts.replayed, 'record');
  const sentences = [
    dryRun ? `Dry run: ${records} would go to ${to}.` : `${records} published to ${to}.`,
    skipped.length === 0 ? '' : `Skipped: ${skipped.join(', ')}.`,
    dryRun && counts.replayed > 0
      ? 'Add --yes to replay; dead-letters list shows the letters.'
      : '',
  ];
  return `${sentences.filter(Boolean).join(' ')}\n`;
}

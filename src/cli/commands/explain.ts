import { Argument, type Command } from 'commander';
import { CommandFailed, EXIT } from '../../../packages/client/src/cli/exit-codes.ts';
import { helpText, type Io } from '../../../packages/client/src/cli/io.ts';
import { bar } from '../../../packages/client/src/cli/progress.ts';
import {
  ago,
  counted,
  facts,
  instant,
  printable,
  sentence,
} from '../../../packages/client/src/cli/text.ts';
import type { Explanation, FoundTerminal, SearchReport } from '../../tools/inspect/explain.ts';
import type { JobReport } from '../../tools/inspect/shard-journal.ts';
import { pointInTime, runTool, type ToolFlags, toolOptions } from '../tool-options.ts';

const DAY_MS = 86_400_000;
/** Maximum number of matches to show. It is limited because the record of each match is read again. */
const LIMIT = 10;

interface ExplainFlags extends ToolFlags {
  readonly key?: string;
  readonly since?: number;
}

export function explainCommand(program: Command, io: Io): void {
  toolOptions(program.command('explain'))
    .summary('show the fate of source records')
    .description(
      'Shows the fate of a source record, given its coordinates or event id, or of all events with a key: the decision or dead letter, or the batch that is under review. Never shows content.',
    )
    .addArgument(
      new Argument(
        '[record]',
        'PARTITION:OFFSET such as 2:1371, or event id such as content-events-2-1371',
      ),
    )
    .option('--key <key>', 'search for events with this key')
    .option(
      '--since <time>',
      'start of the search: ISO 8601, or an age (15m, 2h, 7d; default: 1d)',
      pointInTime,
    )
    .addHelpText(
      'after',
      helpText(
        [
          'explain 2:1371 --config connector.yaml',
          'explain content-events-2-1371 -c connector.yaml --json | jq -r .state',
          'explain --key user-7 --since 7d -c connector.yaml',
        ],
        '',
        'problems',
      ),
    )
    .action(async (record: string | undefined, flags: ExplainFlags) => {
      if (record === undefined) await explainMatches(io, flags);
      else if (flags.key === undefined) await explainOne(io, record, flags);
      else throw new CommandFailed('name a record, or search with --key, not both');
    });
}

async function explainOne(io: Io, record: string, flags: ExplainFlags): Promise<void> {
  const { explainRecords, namedRecord } = await import('../../tools/inspect/explain.ts');
  await runTool(
    io,
    flags,
    async (tools) => {
      const at = namedRecord(tools.pipeline, record);
      const [explanation] = await explainRecords(tools, [at]);
      return explanation as Explanation;
    },
    explainText,
    (record) => codeOf([record]),
  );
}

async function explainMatches(io: Io, flags: ExplainFlags): Promise<void> {
  const { key, since: sinceMs = Date.now() - DAY_MS } = flags;
  if (key === undefined)
    throw new CommandFailed(
      'name a record (PARTITION:OFFSET or an event id), or search with --key',
    );
  const { search } = await import('../../tools/inspect/explain.ts');
  await runTool(
    io,
    flags,
    (tools, progress) =>
      search(tools, { key, sinceMs, limit: LIMIT }, ({ done, total, matching }) =>
        progress.show(() => `${bar(done, total)}  ${counted(matching, 'match', 'matches')}`),
      ),
    searchText,
    ({ records }) => codeOf(records),
  );
}

/** Problems are missing records, and records that can no longer be verified. */
const codeOf = (records: readonly Explanation[]) =>
  records.some(({ state }) => state === 'missing' || state === 'unknown') ? EXIT.problems : EXIT.ok;

function searchText(report: SearchReport, nowMs: number): string {
  const { topic, sinceMs, searched, matching, records } = report;
  const where = `${counted(searched, 'record')} of ${topic} read, from ${instant(sinceMs)} on`;
  const newest = matching > records.length ? `, the newest ${records.length} shown` : '';
  const last =
    matching === 0
      ? `No event matches: ${where}. Use --since to search further back.`
      : `${counted(matching, 'event matches', 'events match')}${newest}: ${where}.`;
  return [...records.map((one) => explainText(one, nowMs)), `${last}\n`].join('\n');
}

function explainText(report: Explanation, nowMs: number): string {
  const { partition, offset, timestampMs, shard, owner, job, terminals } = report;
  const claim =
    owner === null
      ? 'never claimed'
      : `owner ${owner.instance}, seen ${ago(owner.atMs, nowMs)} ago`;
  const lines: [string, string][] = [
    ['record', timestampMs === null ? 'gone' : whenText(timestampMs, nowMs)],
    ['shard', `${shard}, ${claim}`],
  ];
  if (job !== null) lines.push(['batch', jobText(job)]);
  for (const terminal of terminals)
    lines.push([terminal.kind.replace('_', ' '), terminalText(terminal, nowMs)]);
  for (const note of report.notes) lines.push(['note', note]);
  return `${partition}:${offset}  ${sentence(report.summary)}\n\n${facts(lines, '  ')}`;
}

const jobText = ({ type, depth, count, left, createdMs }: JobReport): string =>
  [
    `type ${printable(type)}, ${left} of ${counted(count, 'row')} left`,
    depth > 0 ? `, halved ${counted(depth, 'time')}` : '',
    `, created ${instant(createdMs)}`,
  ].join('');

function terminalText(terminal: FoundTerminal, nowMs: number): string {
  const { topic, partition, offset, timestampMs, eventId, decision, deadLetter } = terminal;
  const { status = 'unreadable', result } = decision ?? {};
  const what =
    deadLetter === null
      ? printable(`${status}${result ? ` ${result}` : ''}`)
      : `${printable(deadLetter.reason)} at ${printable(deadLetter.stage)}`;
  return `${what}, ${topic} ${partition}:${offset}, ${whenText(timestampMs, nowMs)}, event id ${eventId}`;
}

const whenText = (ms: number, nowMs: number) => `${instant(ms)} (${ago(ms, nowMs)} ago)`;

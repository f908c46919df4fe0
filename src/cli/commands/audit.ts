import type { Command } from 'commander';
import { EXIT } from '../../../packages/client/src/cli/exit-codes.ts';
import { helpText, type Io } from '../../../packages/client/src/cli/io.ts';
import {
  ago,
  counted,
  sentence,
  type TableCell,
  table,
} from '../../../packages/client/src/cli/text.ts';
import type { AuditReport, ShardReport } from '../../tools/inspect/audit.ts';
import type { PartitionBalance } from '../../tools/inspect/audit-balance.ts';
import { pointInTime, runTool, type ToolFlags, toolOptions } from '../tool-options.ts';
import { printableHold } from './control.ts';

/** Maximum number of offset runs that the text output lists. */
const MAX_RUNS = 20;

interface AuditFlags extends ToolFlags {
  readonly position?: string;
  readonly since?: number;
}

export function auditCommand(program: Command, io: Io): void {
  toolOptions(program.command('audit'))
    .summary('prove that every source record has exactly one terminal record')
    .description(
      'Determines the fate of each source record, and lists missing and duplicate terminal records, the owner of each shard and its oldest batch. It can run beside the connector: records in flight are not reported as missing.',
    )
    .option(
      '--since <time>',
      'first timestamp: ISO 8601, or an age (15m, 2h, 1d); default: all records',
      pointInTime,
    )
    .option(
      '--position <file>',
      'start at the position in this file, and save the new position to it unless records are missing or double',
    )
    .addHelpText(
      'after',
      helpText(
        [
          'audit -c connector.yaml --since 1d',
          'audit -c connector.yaml --since 1d --position posts.position',
          'audit -c connector.yaml --json | jq .shards[].jobs',
        ],
        'docs/tools.md explains the columns.',
        'ok',
        'problems',
      ),
    )
    .action(async (flags: AuditFlags) => {
      const { audit } = await import('../../tools/inspect/audit.ts');
      const { positionFile } = await import('../audit-position.ts');
      const { since: sinceMs, position: file } = flags;
      await runTool(
        io,
        flags,
        (tools) => {
          const { name, topics } = tools.pipeline;
          const position = file === undefined ? undefined : positionFile(file, name, topics.source);
          return audit(tools, { sinceMs, position });
        },
        auditText,
        ({ verdict }) => VERDICTS[verdict].code,
      );
    });
}

/** Columns of the report. Those without `always` are shown only if they are not 0. */
const COLUMNS: Readonly<Record<keyof AuditReport['totals'], readonly [string, 'always'?]>> = {
  records: ['RECORDS', 'always'],
  decided: ['DECIDED', 'always'],
  deadLettered: ['DEAD LETTERS', 'always'],
  skipped: ['SKIPPED'],
  beforeStart: ['BEFORE START'],
  waiting: ['WAITING', 'always'],
  live: ['IN REVIEW', 'always'],
  unknown: ['UNKNOWN'],
  missing: ['MISSING', 'always'],
  double: ['DOUBLE', 'always'],
  withoutSource: ['NO SOURCE'],
  replayed: ['REPLAYED'],
};

const VERDICTS = {
  balanced: {
    code: EXIT.ok,
    text: 'Balanced: every record is decided, dead-lettered or in flight, none twice.',
  },
  missing: {
    code: EXIT.problems,
    text: 'MISSING: some records have no terminal record and are not in flight.',
  },
  double: { code: EXIT.problems, text: 'DOUBLE: some records have more than one terminal record.' },
  unknown: {
    code: EXIT.problems,
    text: 'No problem found, but some records can no longer be verified.',
  },
} as const satisfies Readonly<Record<AuditReport['verdict'], object>>;

function auditText(
  { verdict, partitions, totals, hold, shards, notes, outputOffsets }: AuditReport,
  nowMs: number,
): string {
  const keys = Object.keys(COLUMNS) as (keyof AuditReport['totals'])[];
  const shown = keys.filter((key) => COLUMNS[key][1] === 'always' || totals[key] > 0);
  const counts = (of: AuditReport['totals']): TableCell[] => shown.map((key) => of[key]);
  const rows: TableCell[][] = partitions.map((balance) => [
    String(balance.partition),
    `[${balance.from}, ${balance.to})`,
    ...counts(balance),
  ]);
  if (partitions.length > 1) rows.push(['all', '', ...counts(totals)]);
  const lists = Object.entries(LISTS).flatMap(([title, key]) => listOf(title, partitions, key));
  const isEmpty = totals.records === 0 && verdict === 'balanced';
  const word = isEmpty ? 'Nothing to verify: the range has no records.' : VERDICTS[verdict].text;
  return [
    table(['PARTITION', 'RANGE', ...shown.map((key) => COLUMNS[key][0])], rows),
    table(
      ['SHARD', 'OWNER', 'SEEN', 'LIVE', 'LEFT', 'OLDEST BATCH', 'AGE'],
      shards.map((shard) => shardRow(shard, nowMs)),
    ),
    ...(hold === null ? [] : [`${printableHold(hold)}\n`]),
    ...(lists.length > 0 ? [`${lists.join('\n')}\n`] : []),
    ...notes.map((note) => `Note: ${sentence(note)}.\n`),
    `${word} (${counted(totals.records, 'source record')}; ${counted(outputOffsets, 'output offset')} read)\n`,
  ].join('\n');
}

function shardRow({ shard, owner, jobs }: ShardReport, nowMs: number): TableCell[] {
  const [oldest] = jobs;
  return [
    String(shard),
    ...(owner === null ? [null, null] : [owner.instance, ago(owner.atMs, nowMs)]),
    jobs.length,
    jobs.reduce((sum, { left }) => sum + left, 0),
    ...(oldest === undefined ? [null, null] : [oldest.remoteId, ago(oldest.createdMs, nowMs)]),
  ];
}

const LISTS = {
  Missing: 'missingOffsets',
  Double: 'doubleOffsets',
  'Terminal records without a source record': 'withoutSourceOffsets',
} as const;

function listOf(
  title: string,
  partitions: readonly PartitionBalance[],
  key: (typeof LISTS)[keyof typeof LISTS],
): string[] {
  const all = partitions.flatMap((balance) =>
    balance[key].map(([first, last]) => {
      const end = first === last ? '' : `-${last}`;
      return `${balance.partition}:${first}${end}`;
    }),
  );
  if (all.length === 0) return [];
  const rest = all.length - MAX_RUNS;
  const more = rest > 0 ? `, and ${counted(rest, 'run')} more (--json lists all)` : '';
  return [`${title}: ${all.slice(0, MAX_RUNS).join(' ')}${more}`];
}

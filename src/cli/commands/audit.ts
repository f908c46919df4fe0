import { Command, Option } from 'commander';
import type { AuditReport } from '../../tools/inspect/audit.ts';
import type { OffsetRun, PartitionBalance } from '../../tools/inspect/balance.ts';
import { EXIT } from '../exit-codes.ts';
import {
  type InspectFlags,
  inspectOptions,
  partitionNumbers,
  pointInTime,
  runTool,
  wholeNumber,
} from '../inspect-command.ts';
import type { Finish, Io } from '../io.ts';
import { printable } from '../printable.ts';
import { type Cell, counted, table } from '../table.ts';

/** Runs of offsets that a person is shown. */
const SHOWN_RUNS = 20;
/** Characters of a note. */
const MAX_NOTE = 2_000;

interface AuditFlags extends InspectFlags {
  readonly partition?: number[];
  readonly from?: number;
  readonly since?: number;
  readonly to?: number;
}

export function auditCommand(io: Io, finish: Finish): Command {
  const command = new Command('audit')
    .summary('prove that every source record has exactly one terminal record')
    .description(
      'Counts, for any range of a topic, what became of each source record, and lists those that are missing and those that were published twice. May run beside a working connector: what is in flight is told apart from what is missing.',
    )
    .option(
      '--partition <partition>',
      'only this partition; may be given several times',
      partitionNumbers,
    )
    .option('--from <offset>', 'first offset', wholeNumber('An offset'))
    .addOption(
      new Option(
        '--since <time>',
        'first timestamp: ISO 8601, or a length of time before now (15m, 2h, 1d)',
      )
        .argParser(pointInTime)
        .conflicts('from'),
    )
    .option(
      '--to <offset>',
      'one past the last offset (default: the end)',
      wholeNumber('An offset'),
    )
    .addHelpText(
      'after',
      `
Ends with 0 when every record is accounted for, 5 when some are missing, 6 when some were published twice (and none is
missing), 7 when nothing is wrong but some can no longer be judged. docs/tools.md says what each column counts.

Examples:
  $ content-review-connector audit --config connector.yaml
  $ content-review-connector audit -c connector.yaml --since 1d
  $ content-review-connector audit -c connector.yaml --partition 2 --from 1000 --to 2000 --json`,
    )
    .action(async ({ partition, from, since, to, ...flags }: AuditFlags) => {
      const { audit } = await import('../../tools/inspect/audit.ts');
      const request = {
        partitions: partition ?? [],
        ...(from === undefined ? {} : { from }),
        ...(since === undefined ? {} : { sinceMs: since }),
        ...(to === undefined ? {} : { to }),
      };
      await runTool(
        io,
        finish,
        flags,
        async (tools) => {
          const answer = await audit(tools, request);
          return { answer, code: VERDICT_CODES[answer.verdict] };
        },
        auditText,
      );
    });
  return inspectOptions(command);
}

const VERDICT_CODES = {
  balanced: EXIT.ok,
  missing: EXIT.missing,
  double: EXIT.double,
  unknown: EXIT.unknown,
} as const;

/** Always shown, then those that are not 0 everywhere. */
const COLUMNS: readonly {
  readonly head: string;
  readonly key: keyof AuditReport['totals'];
  readonly always: boolean;
}[] = [
  { head: 'RECORDS', key: 'records', always: true },
  { head: 'DECIDED', key: 'decided', always: true },
  { head: 'DEAD LETTERS', key: 'deadLettered', always: true },
  { head: 'SKIPPED', key: 'skipped', always: false },
  { head: 'PASSED OVER', key: 'passedOver', always: false },
  { head: 'BEFORE START', key: 'beforeStart', always: false },
  { head: 'WAITING', key: 'waiting', always: true },
  { head: 'IN REVIEW', key: 'live', always: true },
  { head: 'UNKNOWN', key: 'unknown', always: false },
  { head: 'MISSING', key: 'missing', always: true },
  { head: 'DOUBLE', key: 'double', always: true },
  { head: 'NO SOURCE', key: 'withoutSource', always: false },
  { head: 'REPLAYED', key: 'replayed', always: false },
];

function auditText({ verdict, partitions, totals, notes, outputOffsets }: AuditReport): string {
  const columns = COLUMNS.filter(({ key, always }) => always || totals[key] > 0);
  const counts = (of: AuditReport['totals']): Cell[] => columns.map(({ key }) => of[key]);
  const rows: Cell[][] = partitions.map((balance) => [
    String(balance.partition),
    `[${balance.from}, ${balance.to})`,
    ...counts(balance),
  ]);
  if (partitions.length > 1) rows.push(['all', '', ...counts(totals)]);
  const parts = [table(['PARTITION', 'RANGE', ...columns.map(({ head }) => head)], rows)];
  const lists = [
    ...listOf('Missing', partitions, ({ missingOffsets }) => missingOffsets),
    ...listOf('Double', partitions, ({ doubleOffsets }) => doubleOffsets),
    ...listOf(
      'Terminal records without a source record',
      partitions,
      ({ withoutSourceOffsets }) => withoutSourceOffsets,
    ),
  ];
  if (lists.length > 0) parts.push(`${lists.join('\n')}\n`);
  for (const note of notes) parts.push(`Note: ${printable(note, MAX_NOTE)}.\n`);
  const word =
    totals.records === 0 && verdict === 'balanced'
      ? 'Nothing to judge: the range holds no record.'
      : VERDICTS[verdict];
  parts.push(
    `${word} (${counted(totals.records, 'source record')}; ${counted(outputOffsets, 'output offset')} read)\n`,
  );
  return parts.join('\n');
}

const VERDICTS: Readonly<Record<AuditReport['verdict'], string>> = {
  balanced: 'Balanced: every record is decided, dead-lettered or on its way, none twice.',
  missing: 'MISSING: some records have no terminal record and are not on their way.',
  double: 'DOUBLE: some terminal records are too many.',
  unknown: 'Nothing is wrong as far as it can be told, but some records can no longer be judged.',
};

function listOf(
  title: string,
  partitions: readonly PartitionBalance[],
  runs: (balance: PartitionBalance) => readonly OffsetRun[],
): string[] {
  const all = partitions.flatMap((balance) =>
    runs(balance).map(([first, last]) =>
      first === last ? `${balance.partition}:${first}` : `${balance.partition}:${first}-${last}`,
    ),
  );
  if (all.length === 0) return [];
  const more =
    all.length > SHOWN_RUNS
      ? `, and ${counted(all.length - SHOWN_RUNS, 'run')} more (--json lists all)`
      : '';
  return [`${title}: ${all.slice(0, SHOWN_RUNS).join(' ')}${more}`];
}

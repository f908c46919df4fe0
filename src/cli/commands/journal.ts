import type { Command } from 'commander';
import { helpText, type Io } from '../../../packages/client/src/cli/io.ts';
import { ago, counted, type TableCell, table } from '../../../packages/client/src/cli/text.ts';
import { type Hold, obeys } from '../../core/journal/control.ts';
import type { JobReport, JournalReport, ShardReport } from '../../tools/inspect/journal-report.ts';
import { runTool, type ToolFlags, toolOptions } from '../tool-options.ts';
import { printableHold } from './control.ts';

export function journalCommand(program: Command, io: Io): void {
  toolOptions(program.command('journal'))
    .summary('show the shards, positions and live jobs of a pipeline')
    .description(
      'Shows the shards of a pipeline with their owners and positions, and every live job with its age and remaining records. Only reads the journal; batch get shows the state of a batch at the service.',
    )
    .addHelpText(
      'after',
      helpText(
        [
          'journal --config connector.yaml',
          "journal -c connector.yaml --json | jq '.jobs[] | select(.attempt > 1)'",
        ],
        `Columns: W is the first offset of a partition that is neither in a job nor finished; COMMITTED is the same number unless the
group was reset; LAG counts offsets that are in no job yet; LEFT the unfinished records of a job.`,
      ),
    )
    .action(async (flags: ToolFlags) => {
      const { journalReport } = await import('../../tools/inspect/journal-report.ts');
      await runTool(io, flags, (tools) => journalReport(tools), journalText);
    });
}

const SHARD_HEADS = 'SHARD OWNER SEEN PARTITION W COMMITTED END LAG RESETS JOBS UNSETTLED';
const JOB_HEADS = [
  'BATCH',
  'SHARD',
  'TYPE',
  'LEFT',
  'ROWS',
  'ATTEMPT',
  'DEPTH',
  'AGE',
  'OLDEST EVENT',
];

function journalText(report: JournalReport, nowMs: number): string {
  const { group, control, shards, jobs } = report;
  const answered = shards.filter(({ acknowledged }) => acknowledged?.revision === control.revision);
  const parts = [
    `Group ${group.id}: ${group.state}, ${counted(group.members, 'replica')}. ${counted(jobs.length, 'live job')}.\n`,
    table(
      SHARD_HEADS.split(' '),
      shards.flatMap((shard) => shardRows(shard, nowMs)),
    ),
  ];
  if (control.hold !== undefined) parts.push(holdText(control.hold, answered, shards.length));
  if (jobs.length > 0)
    parts.push(
      table(
        JOB_HEADS,
        jobs.map((job) => jobRow(job, nowMs)),
      ),
    );
  if (group.members === 0)
    parts.push('Note: no replica is running: nothing proceeds until one is started.\n');
  return parts.join('\n');
}

function shardRows(report: ShardReport, nowMs: number): TableCell[][] {
  const { shard, owner, partitions, liveJobs, unsettled } = report;
  const claim = owner === null ? [null, null] : [owner.instance, ago(owner.atMs, nowMs)];
  // Jobs belong to the shard, so its first row has them.
  return partitions.map(
    ({ partition, watermark, committed, resetPending, end, lag, replay }, n) => [
      ...(n === 0 ? [String(shard), ...claim] : ['', '', '']),
      String(partition),
      textOf(watermark),
      resetPending ? `${committed} (reset)` : textOf(committed),
      String(end),
      lag,
      replay,
      ...(n === 0 ? [String(liveJobs), String(unsettled)] : ['', '']),
    ],
  );
}

function holdText(hold: Hold, answered: readonly ShardReport[], shards: number): string {
  const { length } = answered.filter(
    ({ acknowledged }) => acknowledged !== null && obeys(acknowledged, hold.state),
  );
  const word = hold.state === 'draining' ? 'drained' : hold.state;
  return `${printableHold(hold)}; ${length} of ${counted(shards, 'shard')} ${word}.\n`;
}

const textOf = (offset: number | null): string | null => (offset === null ? null : String(offset));

function jobRow(job: JobReport, nowMs: number): TableCell[] {
  return [
    job.remoteId,
    String(job.shard),
    job.type,
    job.left,
    job.count,
    job.attempt,
    job.depth,
    ago(job.createdMs, nowMs),
    ago(job.oldestEventMs, nowMs),
  ];
}

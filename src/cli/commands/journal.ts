import { Command } from 'commander';
import type { JobReport, JournalReport, ShardReport } from '../../tools/inspect/journal-report.ts';
import { type InspectFlags, inspectOptions, runTool } from '../inspect-command.ts';
import type { Finish, Io } from '../io.ts';
import { printable } from '../printable.ts';
import { ago, type Cell, counted, table } from '../table.ts';

export function journalCommand(io: Io, finish: Finish): Command {
  const command = new Command('journal')
    .summary('show what a pipeline is working on: shards, positions, live jobs')
    .description(
      'Shows the shards of a pipeline with their owners and positions, and every live job: how old it is, what is left of it, and what it waits for. Reads the journal from the side: a running connector does not notice.',
    )
    .option('--no-service', 'do not ask the service for the state of the batches')
    .addHelpText(
      'after',
      `
Columns: W is the first offset of a partition that is in no job and not settled; COMMITTED is the group's offset, the same
number unless somebody reset the group; LAG counts offsets in no job yet. LEFT is what is still to be settled of a job's ROWS.

Examples:
  $ content-review-connector journal --config connector.yaml
  $ content-review-connector journal -c connector.yaml --json | jq '.jobs[] | select(.attempt > 1)'`,
    )
    .action(async (flags: InspectFlags) => {
      const { journalReport } = await import('../../tools/inspect/journal-report.ts');
      await runTool(
        io,
        finish,
        flags,
        async (tools) => ({ answer: await journalReport(tools) }),
        journalText,
      );
    });
  return inspectOptions(command);
}

function journalText({ group, shards, jobs, notes }: JournalReport, nowMs: number): string {
  const parts = [
    `Group ${group.id}: ${group.state}, ${counted(group.members, 'replica')}. ${counted(jobs.length, 'live job')}.\n`,
    table(
      [
        'SHARD',
        'OWNER',
        'SEEN',
        'PARTITION',
        'W',
        'COMMITTED',
        'END',
        'LAG',
        'RESETS',
        'JOBS',
        'UNSETTLED',
      ],
      shards.flatMap((shard) => shardRows(shard, nowMs)),
    ),
  ];
  if (jobs.length > 0) {
    parts.push(
      table(
        [
          'BATCH',
          'SHARD',
          'TYPE',
          'LEFT',
          'ROWS',
          'ATTEMPT',
          'DEPTH',
          'AGE',
          'OLDEST EVENT',
          'SERVICE',
          'WAITS FOR',
        ],
        jobs.map((job) => jobRow(job, nowMs)),
      ),
    );
  }
  for (const note of notes) parts.push(`Note: ${printable(note, 2_000)}\n`);
  return parts.join('\n');
}

function shardRows(
  { shard, owner, partitions, liveJobs, unsettled }: ShardReport,
  nowMs: number,
): Cell[][] {
  const who = owner === null ? [null, null] : [owner.instance, ago(owner.atMs, nowMs)];
  // The jobs are the shard's, not the partition's: told once.
  return partitions.map(
    ({ partition, watermark, committed, resetPending, end, lag, replay }, n) => [
      ...(n === 0 ? [String(shard), ...who] : ['', '', '']),
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

const textOf = (offset: number | null): string | null => (offset === null ? null : String(offset));

function jobRow(job: JobReport, nowMs: number): Cell[] {
  const { service } = job;
  const progress =
    service?.total === undefined || service.total === 0
      ? ''
      : ` ${service.finished ?? 0}/${service.total}`;
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
    service === null ? null : `${service.status}${progress}`,
    job.waitsFor,
  ];
}

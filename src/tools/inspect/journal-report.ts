/** State of a pipeline: its shards, their positions, and every live job. */
import type { Acknowledgement, Control } from '../../core/journal/control.ts';
import type { JobRecord, LiveJob } from '../../core/journal/job.ts';
import { isOwnCommit } from '../../core/journal/shard-state.ts';
import type { CommittedOffset, PartitionBounds } from '../../core/ports/kafka.ts';
import type { Inspection } from './context.ts';
import { newestOf, readAll } from './control.ts';
import { journalReader, type ShardJournal } from './shard-journal.ts';

export interface PartitionPosition {
  readonly partition: number;
  /** W: every record below is settled or in a live job. null: never claimed. */
  readonly watermark: number | null;
  /** Committed offset of the group, equal to W; null: none. */
  readonly committed: number | null;
  /** The committed offset was set externally: the next claim of the shard continues from there. */
  readonly resetPending: boolean;
  /** First offset still in the source, and its end. */
  readonly start: number;
  readonly end: number;
  /** Offsets that are neither settled nor in a job. */
  readonly lag: number;
  /** Number of resets of the group. */
  readonly replay: number;
}

export interface ShardReport {
  readonly shard: number;
  /** The last claim; null: never claimed. An idle owner renews `atMs` regularly. */
  readonly owner: { readonly instance: string; readonly atMs: number } | null;
  readonly partitions: readonly PartitionPosition[];
  readonly liveJobs: number;
  readonly unsettled: number;
  /** Time of the newest record of the shard's journal; null: there is none. */
  readonly writtenMs: number | null;
  /** Newest acknowledgement of a command by an owner of the shard. */
  readonly acknowledged: Acknowledgement | null;
}

export interface JobReport
  extends Pick<
    JobRecord,
    'id' | 'remoteId' | 'type' | 'attempt' | 'depth' | 'count' | 'createdMs' | 'oldestEventMs'
  > {
  readonly shard: number;
  /** Rows still to be settled. */
  readonly left: number;
  readonly partitions: readonly number[];
}

export function jobReport(shard: number, { record, left }: LiveJob): JobReport {
  const { id, remoteId, type, attempt, depth, count, createdMs, oldestEventMs } = record;
  return {
    ...{ id, remoteId, type, attempt, depth, count, createdMs, oldestEventMs, shard },
    left: left.size,
    partitions: left.entries().map(([partition]) => partition),
  };
}

export interface JournalReport {
  /** Newest command of an operator; revision 0: there was none. */
  readonly control: Control;
  readonly group: { readonly id: string; readonly state: string; readonly members: number };
  readonly shards: readonly ShardReport[];
  /** Oldest first. */
  readonly jobs: readonly JobReport[];
}

/** Reads the journal of every shard. @throws InspectError */
export async function journalReport(inspection: Inspection): Promise<JournalReport> {
  const { scan, admin, pipeline } = inspection;
  const numbers = [...(await scan.bounds(pipeline.topics.journal)).keys()];
  const readers = numbers.map((shard) => journalReader(inspection, shard));
  const journals = await readAll(readers, 'stable');
  // After the journals: a W beyond the end would look like a recreated topic.
  const bounds = await scan.bounds(pipeline.topics.source);
  const committed = await admin.committed(pipeline.group, pipeline.topics.source, [
    ...bounds.keys(),
  ]);
  const group = { id: pipeline.group, ...(await scan.group(pipeline.group)) };
  const jobs = journals
    .flatMap(({ shard, state }) => [...state.jobs.values()].map((job) => jobReport(shard, job)))
    .sort((a, b) => a.createdMs - b.createdMs);
  const shards = journals.map(
    ({ shard, state, writtenMs }): ShardReport => ({
      shard,
      owner: state.owner ? { instance: state.owner.instance, atMs: state.owner.atMs } : null,
      partitions: [...bounds]
        .filter(([partition]) => partition % journals.length === shard)
        .map(([partition, range]) =>
          positionOf(partition, range, state.progress.get(partition), committed.get(partition)),
        ),
      acknowledged: state.acknowledged ?? null,
      writtenMs: writtenMs ?? null,
      liveJobs: state.jobs.size,
      unsettled: [...state.jobs.values()].reduce((sum, { left }) => sum + left.size, 0),
    }),
  );
  return { group, control: newestOf(journals), shards, jobs };
}

function positionOf(
  partition: number,
  { start, end }: PartitionBounds,
  progress: ReturnType<ShardJournal['state']['progress']['get']>,
  { offset, metadata }: CommittedOffset = { offset: null, metadata: '' },
): PartitionPosition {
  const from = Math.max(progress?.watermark ?? start, start);
  let claimed = 0;
  for (const one of progress?.claimed ?? []) if (one >= from && one < end) claimed++;
  return {
    partition,
    watermark: progress?.watermark ?? null,
    committed: offset,
    resetPending: offset !== null && !isOwnCommit(metadata),
    start,
    end,
    lag: Math.max(0, end - from - claimed),
    replay: progress?.replay ?? 0,
  };
}

/** State of a pipeline: its shards, their positions, and every live job with the reason why it waits. */
import type { Acknowledgement, Control } from '../../core/journal/control.ts';
import { isOwnCommit } from '../../core/journal/shard-state.ts';
import type { CommittedOffset, PartitionBounds } from '../../core/ports/kafka.ts';
import { eachAtATime, type Inspection, type RemoteBatch } from './context.ts';
import { newestOf, readAll } from './control.ts';
import { type ReportedJob, reportedJob, waitsFor } from './remote-jobs.ts';
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

export interface JobReport extends ReportedJob {
  readonly shard: number;
  /** Rows still to be settled. */
  readonly left: number;
  readonly partitions: readonly number[];
  /** State at the service; null when it was not called or did not respond. */
  readonly service: RemoteBatch | null;
  readonly waitsFor: string;
}

export interface JournalReport {
  /** Newest command of an operator; revision 0: there was none. */
  readonly control: Control;
  readonly group: { readonly id: string; readonly state: string; readonly members: number };
  readonly shards: readonly ShardReport[];
  /** Oldest first. */
  readonly jobs: readonly JobReport[];
  readonly notes: readonly string[];
}

/** Shares the limits of the service with the connector's own calls. */
const MAX_REQUESTED = 100;

/** Reads the journal of every shard, and requests the live batches from the service if allowed. @throws InspectError */
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
  const running = group.members > 0;
  const notes = running ? [] : ['no replica is running: nothing proceeds until one is started'];

  const live = journals
    .flatMap(({ shard, state }) => [...state.jobs.values()].map((job) => ({ shard, job })))
    .sort((a, b) => a.job.record.createdMs - b.job.record.createdMs);
  const remote = await remoteStates(
    inspection,
    live.map(({ job }) => job.record.remoteId),
    notes,
  );
  const jobs = live.map(({ shard, job }): JobReport => {
    const service = remote.get(job.record.remoteId);
    return {
      ...reportedJob(job.record),
      shard,
      left: job.left.size,
      partitions: job.left.entries().map(([partition]) => partition),
      service: service ?? null,
      waitsFor: waitsFor({ kind: pipeline.kind, service, running }),
    };
  });
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
  return { group, control: newestOf(journals), shards, jobs, notes };
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

async function remoteStates(
  { remoteBatch, signal }: Inspection,
  ids: readonly string[],
  notes: string[],
): Promise<ReadonlyMap<string, RemoteBatch>> {
  const states = new Map<string, RemoteBatch>();
  if (remoteBatch === undefined) return states;
  if (ids.length > MAX_REQUESTED)
    notes.push(`only the oldest ${MAX_REQUESTED} of ${ids.length} batches were requested`);
  try {
    await eachAtATime(ids.slice(0, MAX_REQUESTED), async (id) => {
      states.set(id, await remoteBatch(id));
    });
  } catch (error) {
    signal.throwIfAborted();
    notes.push(unreachable(error));
  }
  return states;
}

export const unreachable = (error: unknown): string =>
  `the service did not respond: ${error instanceof Error ? error.message : String(error)}`;

/** What a pipeline is working on: its shards, their positions, and every live job with the reason why it waits. */
import type { LiveJob } from '../../core/journal/job.ts';
import type { JournalState } from '../../core/journal/journal-view.ts';
import { isOwnCommit } from '../../core/journal/shard-state.ts';
import type { CommittedOffset } from '../../core/ports/kafka.ts';
import type { PartitionBounds } from '../../core/ports/topic-scan.ts';
import { eachAtATime, type Inspection, PARTITIONS_AT_A_TIME, type RemoteBatch } from './context.ts';
import { readShardJournal, type ShardJournal } from './shard-journal.ts';

export interface PartitionPosition {
  readonly partition: number;
  /** W: every record below is settled or in a live job. null: never claimed. */
  readonly watermark: number | null;
  /** What the group has committed, which is W; null: nothing. */
  readonly committed: number | null;
  /** The committed offset was set by somebody else: at the next claim the shard goes on from there. */
  readonly resetPending: boolean;
  readonly end: number;
  /** Offsets that are in no job yet and not settled. */
  readonly lag: number;
  /** How often the group was reset. */
  readonly replay: number;
}

export interface ShardReport {
  readonly shard: number;
  /** The last claim; null: never claimed. `atMs` is renewed by the probes of an idle owner. */
  readonly owner: { readonly instance: string; readonly atMs: number } | null;
  readonly partitions: readonly PartitionPosition[];
  readonly liveJobs: number;
  readonly unsettled: number;
}

export interface JobReport {
  readonly id: string;
  readonly remoteId: string;
  readonly shard: number;
  readonly type: string;
  /** Rows left to settle, of rows submitted. */
  readonly left: number;
  readonly count: number;
  readonly attempt: number;
  readonly depth: number;
  readonly createdMs: number;
  readonly oldestEventMs: number;
  readonly partitions: readonly number[];
  /** What the service says; null when it was not asked or did not answer. */
  readonly service: RemoteBatch | null;
  readonly waitsFor: string;
}

export interface JournalReport {
  readonly group: { readonly id: string; readonly state: string; readonly members: number };
  readonly shards: readonly ShardReport[];
  /** Oldest first. */
  readonly jobs: readonly JobReport[];
  readonly notes: readonly string[];
}

/** Reads every shard's journal, and asks the service for the live batches when it may. @throws InspectError */
export async function journalReport(inspection: Inspection): Promise<JournalReport> {
  const { scan, admin, pipeline } = inspection;
  const shards = [...(await scan.bounds(pipeline.topics.journal)).keys()];
  const journals: ShardJournal[] = [];
  await eachAtATime(shards, PARTITIONS_AT_A_TIME, async (shard) => {
    journals[shard] = await readShardJournal(inspection, shard);
  });
  // After the journals: a lag of W beyond the end would look like a recreated topic.
  const bounds = await scan.bounds(pipeline.topics.source);
  const committed = await admin.committed(pipeline.group, pipeline.topics.source, [
    ...bounds.keys(),
  ]);
  const group = { id: pipeline.group, ...(await scan.group(pipeline.group)) };
  const notes: string[] = [];
  if (group.members === 0) notes.push('no replica is running: nothing moves until one is started');
  const remote = await askService(inspection, journals, notes);
  const jobs = journals.flatMap(({ shard, state }) =>
    [...state.jobs.values()].map((job) => {
      const about = {
        kind: pipeline.kind,
        service: remote.get(job.record.remoteId),
        running: group.members > 0,
        behind: pipeline.inOrder ? batchBefore(job, state) : undefined,
      };
      return jobReport(shard, job, about);
    }),
  );
  return {
    group,
    shards: journals.map((journal) => shardReport(journal, shards.length, bounds, committed)),
    jobs: jobs.sort((a, b) => a.createdMs - b.createdMs),
    notes,
  };
}

function shardReport(
  { shard, state }: ShardJournal,
  shards: number,
  bounds: ReadonlyMap<number, PartitionBounds>,
  committed: ReadonlyMap<number, CommittedOffset>,
): ShardReport {
  const partitions = [...bounds].filter(([partition]) => partition % shards === shard);
  return {
    shard,
    owner:
      state.owner === undefined ? null : { instance: state.owner.instance, atMs: state.owner.atMs },
    partitions: partitions.map(([partition, { start, end }]) => {
      const progress = state.progress.get(partition);
      const offset = committed.get(partition) ?? { offset: null, metadata: '' };
      const from = Math.max(progress?.watermark ?? start, start);
      let claimed = 0;
      for (const one of progress?.claimed ?? []) if (one >= from && one < end) claimed++;
      return {
        partition,
        watermark: progress?.watermark ?? null,
        committed: offset.offset,
        resetPending: offset.offset !== null && !isOwnCommit(offset.metadata),
        end,
        lag: Math.max(0, end - from - claimed),
        replay: progress?.replay ?? 0,
      };
    }),
    liveJobs: state.jobs.size,
    unsettled: [...state.jobs.values()].reduce((sum, job) => sum + job.left.size, 0),
  };
}

/** The earliest batch that must publish before this one, by the rule of ShardState.isBehind. */
export function batchBefore({ record, left }: LiveJob, { jobs }: JournalState): string | undefined {
  const before = [...jobs.values()]
    .filter((other) => other.record.sequence < record.sequence && other.left.sharesPartition(left))
    .sort((a, b) => a.record.sequence - b.record.sequence);
  return before[0]?.record.remoteId;
}

function jobReport(shard: number, { record, left }: LiveJob, about: Circumstances): JobReport {
  return {
    id: record.id,
    remoteId: record.remoteId,
    shard,
    type: record.type,
    left: left.size,
    count: record.count,
    attempt: record.attempt,
    depth: record.depth,
    createdMs: record.createdMs,
    oldestEventMs: record.oldestEventMs,
    partitions: left.entries().map(([partition]) => partition),
    service: about.service ?? null,
    waitsFor: waitsFor(about),
  };
}

export interface Circumstances {
  /** Kind of the pipeline. */
  readonly kind: string;
  readonly service: RemoteBatch | undefined;
  /** Some replica runs. */
  readonly running: boolean;
  /** The batch whose turn it is before this one's. */
  readonly behind: string | undefined;
}

/** What a live job waits for, as far as the journal and the service tell. */
export function waitsFor({ kind, service, running, behind }: Circumstances): string {
  const then = running ? '' : ', once a replica runs';
  switch (service?.status) {
    case undefined:
      return kind === 'lookup'
        ? 'decisions that are not made, or that the service gives no usable answer about: `explain` asks for that of a record'
        : 'not known: the service was not asked';
    case 'WAITING_FOR_UPLOAD':
      return `its upload to take effect; given up for a new batch after review.uploadGrace${then}`;
    case 'PENDING':
      return 'the review';
    case 'IN_PROGRESS':
      return 'the import';
    case 'SUCCESS':
    case 'COMPLETE':
      if (behind !== undefined)
        return `its turn: batch ${behind} publishes before it (output.order: source)`;
      return `its results to be read and published${then}`;
    case 'ERROR':
    case 'FAILED':
    case 'CANCELLED':
      return kind === 'lookup'
        ? `its decision to be published${then}`
        : `its next attempt: it has failed${then}`;
    case 'unknown_to_service':
      return `the service to know it again; ${GIVEN_UP[kind] ?? 'given up for a new batch'} after review.missingGrace${then}`;
    case 'unreadable_answer':
      return `an answer that makes sense: ${service?.problem}`;
    default:
      return `the review: ${service?.status} is no state that this version knows`;
  }
}

const GIVEN_UP: Readonly<Record<string, string>> = {
  import: 'submitted again, if service.importPath is right,',
  lookup: 'ends as review.onFailure says',
};

async function askService(
  { remoteBatch, signal }: Inspection,
  journals: readonly ShardJournal[],
  notes: string[],
): Promise<Map<string, RemoteBatch>> {
  const answers = new Map<string, RemoteBatch>();
  if (remoteBatch === undefined) return answers;
  const jobs = journals.flatMap(({ state }) =>
    [...state.jobs.values()].map(({ record }) => record),
  );
  const oldest = jobs.sort((a, b) => a.createdMs - b.createdMs).slice(0, MAX_ASKED);
  if (oldest.length < jobs.length) {
    notes.push(`the service was asked for the oldest ${MAX_ASKED} of ${jobs.length} batches`);
  }
  const ids = oldest.map(({ remoteId }) => remoteId);
  await eachAtATime(ids, SERVICE_CALLS_AT_A_TIME, async (id) => {
    answers.set(id, await remoteBatch(id));
  }).catch((error: unknown) => {
    signal.throwIfAborted();
    // One that fails is enough: the others would only wait for it as long.
    notes.push(
      `the service did not answer: ${error instanceof Error ? error.message : String(error)}`,
    );
  });
  return answers;
}

const SERVICE_CALLS_AT_A_TIME = 4;
/** The connector's own calls share the service's limits with these. */
const MAX_ASKED = 100;

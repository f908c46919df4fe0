/** What became of one source record: the jobs that named it, its terminal record, or where it is on its way. */
import { coordinatesOf, type JobRecord } from '../../core/journal/job.ts';
import type { PartitionProgress } from '../../core/journal/journal-records.ts';
import type { PartitionBounds } from '../../core/ports/topic-scan.ts';
import type { SourceCoordinate } from '../../core/record.ts';
import { type Account, accountOf, REASONS } from './account.ts';
import { InspectError, type Inspection, type RemoteBatch } from './context.ts';
import { type Explanation, type NamingJob, type RecordState, summarise } from './explanation.ts';
import { findTerminals, nothingFound } from './find-terminals.ts';
import { batchBefore } from './journal-report.ts';
import { NO_GAPS, outputGaps } from './output-gaps.ts';
import {
  forgottenOffsets,
  type JournalObserver,
  journalWord,
  readShardJournal,
} from './shard-journal.ts';
import { outputBounds } from './terminal-scan.ts';

export interface ExplainOptions {
  /** Read the outputs to their ends, to see terminal records twice or of replays, also when one is found early. */
  readonly thorough: boolean;
}

/** @throws InspectError `usage` for a partition or an offset that does not exist yet. */
export async function explainRecord(
  inspection: Inspection,
  at: SourceCoordinate,
  { thorough }: ExplainOptions,
): Promise<Explanation> {
  const first = await lookAt(inspection, at, { thorough, whole: false });
  if (first.state !== 'missing') return first;
  // A journal compacted while it was read, and retention at work, look like a record that is missing: as in `audit`.
  inspection.notice('it seems to be missing: looking again before saying so');
  return await lookAt(inspection, at, { thorough, whole: true });
}

async function lookAt(
  inspection: Inspection,
  at: SourceCoordinate,
  { thorough, whole }: ExplainOptions & { readonly whole: boolean },
): Promise<Explanation> {
  const { scan, pipeline } = inspection;
  const bounds = await sourceBounds(inspection, at);
  const source = await sourceRecord(inspection, at, bounds);
  const shards = (await scan.bounds(pipeline.topics.journal)).size;
  const trace = new JobTrace(at);
  const journal = await readShardJournal(inspection, at.partition % shards, trace.observe);
  const progress = journal.state.progress.get(at.partition);
  const live = trace.jobs.find(({ record }) =>
    journal.state.jobs.get(record.id)?.left.has(at.partition, at.offset),
  );
  const forgotten = (await forgottenOffsets(inspection, journal, [at.partition])).get(at.partition);
  const claimed =
    progress === undefined ? at.offset < (forgotten ?? 0) : isClaimed(progress, at.offset);
  const settled = claimed && live === undefined;
  const compacted = source.record === 'none' && (await isCompacted(inspection));
  const wasReset = (progress?.replay ?? 0) > 0;
  const worthAScan = thorough || wasReset || (settled && (source.record !== 'none' || compacted));
  const since = whole ? undefined : (source.timestampMs ?? trace.jobs[0]?.record.createdMs);
  const { tally, terminals, scanned } = worthAScan
    ? await findTerminals(inspection, at, since, { thorough: thorough || wasReset, settled })
    : nothingFound(at);
  const notes: string[] =
    source.cause === undefined ? [] : [`the source record cannot be read: ${source.cause}`];
  const liveJob = live && journal.state.jobs.get(live.record.id);
  const behind =
    liveJob && inspection.pipeline.inOrder ? batchBefore(liveJob, journal.state) : undefined;
  const about = { liveId: live?.record.id, behind, ask: source.decision };
  const jobs = await describeJobs(inspection, trace, about, notes);
  const { account, reason } = accountOf(
    {
      offset: at.offset,
      timestampMs: source.timestampMs ?? 0,
      hasValue: source.valueBytes !== null,
      isFiltered: source.isFiltered,
    },
    tally,
    journalWord(journal, at.partition, forgotten),
    {
      ...(whole ? await outputGaps(inspection, await outputBounds(inspection)) : NO_GAPS),
      skipsNullValues: pipeline.skipsNullValues,
      isSuspect: () => true,
    },
  );
  const state = stateOf({ source, progress, offset: at.offset, live: live !== undefined, account });
  if (state === 'unknown' && reason !== undefined) notes.push(REASONS[reason]);
  const report = {
    ...at,
    kind: pipeline.kind,
    state,
    source: {
      record: source.record,
      timestampMs: source.timestampMs ?? null,
      valueBytes: source.valueBytes ?? null,
    },
    shard: journal.shard,
    owner:
      journal.state.owner === undefined
        ? null
        : { instance: journal.state.owner.instance, atMs: journal.state.owner.atMs },
    position:
      progress === undefined
        ? null
        : {
            watermark: progress.watermark,
            read: progress.read,
            claimed: isClaimed(progress, at.offset),
            replay: progress.replay,
          },
    jobs,
    terminals,
    scanned,
    notes,
  };
  return { ...report, summary: summarise(report) };
}

const isClaimed = (progress: PartitionProgress, offset: number): boolean =>
  offset < progress.watermark || progress.claimed.has(offset);

async function sourceBounds(
  { scan, pipeline }: Inspection,
  { partition, offset }: SourceCoordinate,
): Promise<PartitionBounds> {
  const { source } = pipeline.topics;
  const all = await scan.bounds(source);
  const bounds = all.get(partition);
  if (bounds === undefined) {
    throw new InspectError(
      'usage',
      `topic ${source} has no partition ${partition}: it has ${all.size}, from 0 to ${all.size - 1}`,
    );
  }
  if (offset >= bounds.end) {
    throw new InspectError(
      'usage',
      `nothing has offset ${offset} yet: partition ${partition} of ${source} ends at ${bounds.end}`,
    );
  }
  return bounds;
}

interface SourceFacts {
  readonly record: 'present' | 'none' | 'removed' | 'unreadable';
  /** Why it cannot be read. */
  readonly cause?: string;
  readonly timestampMs?: number;
  readonly valueBytes?: number | null;
  readonly isFiltered?: (() => boolean | undefined) | undefined;
  /** Asks the service for the decision that the record names. */
  readonly decision?: (() => Promise<RemoteBatch | undefined>) | undefined;
}

async function sourceRecord(
  { scan, pipeline, remoteDecision, signal }: Inspection,
  { partition, offset }: SourceCoordinate,
  { start, stable }: PartitionBounds,
): Promise<SourceFacts> {
  if (offset < start) return { record: 'removed' };
  let facts: SourceFacts = { record: 'none' };
  // Beyond the stable end it belongs to an open transaction of its producer: not committed, perhaps never.
  await scan.read(
    pipeline.topics.source,
    { partition, from: offset, until: Math.min(offset + 1, stable) },
    ({ records, unreadable }) => {
      const { isFiltered } = pipeline;
      for (const record of records) {
        const { timestampMs, value } = record;
        const filtered = isFiltered && (() => isFiltered(record));
        const decision = remoteDecision && (() => remoteDecision(record));
        facts = {
          record: 'present',
          timestampMs,
          valueBytes: value?.length ?? null,
          isFiltered: filtered,
          decision,
        };
      }
      if (unreadable !== undefined) {
        facts = {
          record: 'unreadable',
          timestampMs: unreadable.timestampMs,
          cause: unreadable.poison.message,
        };
      }
    },
    signal,
  );
  return facts;
}

async function isCompacted({ admin, pipeline }: Inspection): Promise<boolean> {
  const found = await admin.describeTopic(pipeline.topics.source);
  return found?.settings.get('cleanup.policy')?.includes('compact') ?? false;
}

/** Notes the jobs that name a record while the journal is read. */
class JobTrace {
  readonly jobs: { readonly record: JobRecord; leftMs: number | null }[] = [];
  readonly #at: SourceCoordinate;

  constructor(at: SourceCoordinate) {
    this.#at = at;
  }

  readonly observe: JournalObserver = (entry, writtenMs) => {
    const { partition, offset } = this.#at;
    if (entry.entry === 'job' && entry.value !== null) {
      const known = this.jobs.some(({ record }) => record.id === entry.id);
      if (!known && entry.value.sources.some((source) => source.partition === partition)) {
        if (coordinatesOf(entry.value).has(partition, offset))
          this.jobs.push({ record: entry.value, leftMs: null });
      }
    } else if (entry.entry === 'left' || entry.entry === 'job') {
      const job = this.jobs.find(({ record }) => record.id === entry.id);
      const still = entry.entry === 'left' && entry.value?.has(partition, offset) === true;
      if (job !== undefined && !still) job.leftMs ??= writtenMs;
    }
  };
}

async function describeJobs(
  { remoteBatch, signal }: Inspection,
  { jobs }: JobTrace,
  {
    liveId,
    behind,
    ask: decision,
  }: { readonly liveId: string | undefined; readonly behind: string | undefined } & {
    readonly ask: SourceFacts['decision'];
  },
  notes: string[],
): Promise<NamingJob[]> {
  const described: NamingJob[] = [];
  let ask = remoteBatch;
  for (const { record, leftMs } of jobs) {
    const asked =
      record.id === liveId && decision !== undefined ? decision() : ask?.(record.remoteId);
    const service = await asked?.catch((error: unknown) => {
      signal.throwIfAborted();
      ask = undefined;
      notes.push(
        `the service did not answer: ${error instanceof Error ? error.message : String(error)}`,
      );
      return undefined;
    });
    const { id, remoteId, type, attempt, depth, count, createdMs } = record;
    const live = id === liveId;
    described.push({
      id,
      remoteId,
      type,
      attempt,
      depth,
      count,
      createdMs,
      leftMs: live ? null : leftMs,
      live,
      behind: live ? (behind ?? null) : null,
      service: service ?? null,
    });
  }
  return described;
}

function stateOf(facts: {
  readonly source: SourceFacts;
  readonly progress: PartitionProgress | undefined;
  readonly offset: number;
  readonly live: boolean;
  readonly account: Account;
}): RecordState {
  const { source, progress, offset, live, account } = facts;
  // After a reset it may have a terminal record and be in review again.
  if (live) return 'in_review';
  const kept = KEPT_STATES[account];
  if (account === 'decided' || account === 'deadLettered') return kept;
  if (source.record === 'none') return 'no_record';
  if (source.record === 'removed' && account !== 'beforeStart' && account !== 'passedOver')
    return 'removed';
  if (account === 'waiting')
    return progress !== undefined && offset < progress.read ? 'buffered' : 'not_read';
  return kept;
}

const KEPT_STATES: Readonly<Record<Account, RecordState>> = {
  decided: 'decided',
  deadLettered: 'dead_lettered',
  skipped: 'skipped',
  passedOver: 'passed_over',
  beforeStart: 'before_start',
  waiting: 'not_read',
  live: 'in_review',
  missing: 'missing',
  unknown: 'unknown',
};

/** Outcome of one source record: the jobs that named it, and its terminal record or its place in flight. */
import { coordinatesOf, type JobRecord } from '../../core/journal/job.ts';
import type { SourceCoordinate } from '../../core/record.ts';
import { type Account, BalanceBuilder, UNKNOWN_REASONS } from './audit-balance.ts';
import {
  InspectError,
  type InspectedPipeline,
  type Inspection,
  isCompacted,
  type RemoteBatch,
} from './context.ts';
import { readDecision } from './decision-value.ts';
import {
  type Explanation,
  type FoundTerminal,
  type NamingJob,
  type RecordState,
  summarise,
} from './explanation.ts';
import { unreachable } from './journal-report.ts';
import {
  deadLetterCause,
  NO_GAPS,
  parseEventId,
  type ReadProgress,
  rangesBetween,
  readOutputs,
  readRanges,
  readUntilProven,
  type TerminalKind,
  type TerminalRecord,
} from './outputs.ts';
import { reportedJob } from './remote-jobs.ts';
import { type JournalObserver, journalEvidence, readShardJournal } from './shard-journal.ts';

/**
 * Returns the source record that `partition:offset` or an event id names.
 * @throws InspectError `usage` for the event id of another topic
 */
export function namedRecord({ name, topics }: InspectedPipeline, text: string): SourceCoordinate {
  const [, partition, offset] = /^(\d{1,10}):(\d{1,15})$/.exec(text) ?? [];
  if (partition !== undefined) return { partition: Number(partition), offset: Number(offset) };
  const at = parseEventId(text, topics.source);
  if (at !== undefined) return { partition: at.partition, offset: at.offset };
  throw new InspectError(
    'usage',
    `${JSON.stringify(text)} is no event id of pipeline ${name}, such as ${topics.source}-2-1371: check the id, or choose another pipeline with --pipeline`,
  );
}

/** @throws InspectError `usage` for a partition or an offset that does not exist yet */
export async function explainRecord(
  inspection: Inspection,
  at: SourceCoordinate,
): Promise<Explanation> {
  const { explanation } = await readUntilProven(inspection, (whole) =>
    readRecord(inspection, at, whole),
  );
  return explanation;
}

async function readRecord(inspection: Inspection, at: SourceCoordinate, whole: boolean) {
  const { scan, pipeline } = inspection;
  const { partition, offset } = at;
  const source = await sourceRecord(inspection, at);

  const naming: TracedJob[] = [];
  const shards = (await scan.bounds(pipeline.topics.journal)).size;
  const journal = await readShardJournal(inspection, partition % shards, jobTracer(at, naming));
  const { progress, jobs, owner } = journal.state;
  const evidence = (await journalEvidence(inspection, journal, [partition]))(partition);
  const position = progress.get(partition);
  const live = [...jobs.values()].find(({ left }) => left.has(partition, offset));
  const claimed = offset < evidence.watermark || evidence.claimed.has(offset);

  const wasReset = (position?.replay ?? 0) > 0;
  const isRecord =
    source.record !== 'none' || (await isCompacted(inspection, pipeline.topics.source));
  const isSettled = claimed && live === undefined && isRecord;
  const builder = new BalanceBuilder({ partition, from: offset, to: offset + 1 }, evidence);
  const found: TerminalRecord[] = [];
  const sinceMs = whole ? undefined : (source.timestampMs ?? naming[0]?.record.createdMs);
  const outputs =
    wasReset || isSettled
      ? await readOutputs(inspection, sinceMs, (terminal) => {
          if (terminal.partition !== partition) return undefined;
          builder.addTerminal(terminal.kind, terminal.offset, terminal.replay);
          if (terminal.offset !== offset) return undefined;
          found.push(terminal);
          return wasReset ? undefined : 'enough';
        })
      : { offsets: 0, whole: true, gaps: NO_GAPS };

  const notes =
    source.cause === undefined ? [] : [`the source record cannot be read: ${source.cause}`];
  const { account, reason } = builder.judge(
    {
      offset,
      timestampMs: source.timestampMs ?? 0,
      hasValue: source.valueBytes !== null,
      isFiltered: source.isFiltered,
    },
    { ...outputs.gaps, skipsNullValues: pipeline.skipsNullValues, isSuspect: () => true },
  );
  // A reset adds terminal records: the newest has the present outcome.
  found.sort((a, b) => a.replay - b.replay || a.record.timestampMs - b.record.timestampMs);
  const isRead = offset < (position?.read ?? 0);
  const state = stateOf(source.record, account, found.at(-1)?.kind, live !== undefined, isRead);
  if (state === 'unknown' && reason !== undefined) notes.push(UNKNOWN_REASONS[reason]);
  const { described, failure } = await describeJobs(inspection, naming, live?.record.id);
  if (failure !== undefined) notes.push(failure);
  const report = {
    partition,
    offset,
    kind: pipeline.kind,
    state,
    source: {
      record: source.record,
      timestampMs: source.timestampMs ?? null,
      valueBytes: source.valueBytes ?? null,
    },
    shard: journal.shard,
    owner: owner === undefined ? null : { instance: owner.instance, atMs: owner.atMs },
    position:
      position === undefined
        ? null
        : { watermark: position.watermark, read: position.read, claimed, replay: position.replay },
    jobs: described,
    blockedBy: IN_FLIGHT.has(state)
      ? (await scan.group(pipeline.group)).members === 0
        ? 'no replica is running'
        : (failure ?? null)
      : null,
    terminals: await Promise.all(found.map((one) => describeTerminal(inspection, one))),
    outputOffsets: outputs.offsets,
    notes,
  };
  return {
    explanation: { ...report, summary: summarise(report) },
    whole: outputs.whole,
    doubt: state === 'missing' || state === 'unknown' ? state : undefined,
  };
}

interface SourceFacts {
  readonly record: Explanation['source']['record'];
  /** Cause of an unreadable record. */
  readonly cause?: string;
  readonly timestampMs?: number;
  readonly valueBytes?: number | null;
  readonly isFiltered?: (() => boolean | undefined) | undefined;
}

async function sourceRecord(
  { scan, pipeline, signal }: Inspection,
  { partition, offset }: SourceCoordinate,
): Promise<SourceFacts> {
  const { isFiltered, topics } = pipeline;
  const bounds = await scan.bounds(topics.source);
  const range = bounds.get(partition);
  if (range === undefined)
    throw new InspectError(
      'usage',
      `topic ${topics.source} has no partition ${partition}: it has ${bounds.size}, from 0 to ${bounds.size - 1}`,
    );
  if (offset >= range.end)
    throw new InspectError(
      'usage',
      `offset ${offset} does not exist yet: partition ${partition} of ${topics.source} ends at ${range.end}`,
    );
  if (offset < range.start) return { record: 'removed' };

  let facts: SourceFacts = { record: 'none' };
  // Beyond the stable end it belongs to an open transaction of its producer: not committed, perhaps never.
  const until = Math.min(offset + 1, range.stable);
  await scan.read(
    topics.source,
    { partition, from: offset, until },
    ({ records: [record], unreadable }) => {
      if (record !== undefined)
        facts = {
          record: 'present',
          timestampMs: record.timestampMs,
          valueBytes: record.value?.length ?? null,
          isFiltered: isFiltered && (() => isFiltered(record)),
        };
      if (unreadable !== undefined) {
        const { timestampMs, poison } = unreadable;
        facts = { record: 'unreadable', timestampMs, cause: poison.message };
      }
    },
    signal,
  );
  return facts;
}

interface TracedJob {
  readonly record: JobRecord;
  leftMs: number | null;
}

/** Collects the jobs that name a record while the journal is read. */
function jobTracer({ partition, offset }: SourceCoordinate, jobs: TracedJob[]): JournalObserver {
  return (entry, writtenMs) => {
    if (entry.entry !== 'job' && entry.entry !== 'left') return;
    const known = jobs.find(({ record }) => record.id === entry.id);
    if (entry.entry === 'job' && entry.value !== null) {
      const names = entry.value.sources.some((source) => source.partition === partition);
      if (known === undefined && names && coordinatesOf(entry.value).has(partition, offset))
        jobs.push({ record: entry.value, leftMs: null });
    } else if (known !== undefined) {
      const isLeft = entry.entry === 'left' && entry.value?.has(partition, offset) === true;
      if (!isLeft) known.leftMs ??= writtenMs;
    }
  };
}

async function describeJobs(
  { remoteBatch, signal }: Inspection,
  naming: readonly TracedJob[],
  liveId: string | undefined,
): Promise<{ readonly described: NamingJob[]; readonly failure: string | undefined }> {
  const described: NamingJob[] = [];
  let request = remoteBatch;
  let failure: string | undefined;
  for (const { record, leftMs } of naming) {
    const isLive = record.id === liveId;
    let service: RemoteBatch | undefined;
    try {
      service = await request?.(record.remoteId);
    } catch (error) {
      signal.throwIfAborted();
      request = undefined;
      failure = unreachable(error);
    }
    described.push({
      ...reportedJob(record),
      leftMs: isLive ? null : leftMs,
      live: isLive,
      service: service ?? null,
    });
  }
  return { described, failure };
}

const IN_FLIGHT: ReadonlySet<RecordState> = new Set(['not_read', 'buffered', 'in_review']);

const STATES: Readonly<Record<Account, RecordState>> = {
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

function stateOf(
  record: SourceFacts['record'],
  account: Account,
  newest: TerminalKind | undefined,
  live: boolean,
  isRead: boolean,
): RecordState {
  // After a reset it may have a terminal record and be in review again.
  if (live) return 'in_review';
  if (newest !== undefined) return newest === 'decision' ? 'decided' : 'dead_lettered';
  if (record === 'none') return 'no_record';
  if (record === 'removed' && account !== 'beforeStart' && account !== 'passedOver')
    return 'removed';
  return account === 'waiting' && isRead ? 'buffered' : STATES[account];
}

async function describeTerminal(
  { readFramed }: Inspection,
  { kind, topic, eventId, record }: TerminalRecord,
): Promise<FoundTerminal> {
  const { partition, offset, timestampMs, value } = record;
  const found = { kind, eventId, topic, partition, offset, timestampMs };
  if (kind === 'dead_letter')
    return { ...found, decision: null, deadLetter: deadLetterCause(record) };
  return { ...found, decision: await readDecision(value, readFramed), deadLetter: null };
}

/** Search for source records by their key over a bounded time, and their explanations. */
export interface SearchRequest {
  readonly key: string;
  /** First timestamp, ms. */
  readonly sinceMs: number;
  /** Number of matches that are explained: the newest. */
  readonly limit: number;
}

export interface SearchReport {
  readonly topic: string;
  readonly sinceMs: number;
  /** Number of records read. */
  readonly searched: number;
  readonly matching: number;
  /** Newest first. */
  readonly records: readonly Explanation[];
}

interface Match extends SourceCoordinate {
  readonly timestampMs: number;
}

/** Reads committed records only, up to the stable ends at the beginning. @throws InspectError */
export async function search(
  inspection: Inspection,
  { key, sinceMs, limit }: SearchRequest,
  progress: (state: ReadProgress & { readonly matching: number }) => void = () => {},
): Promise<SearchReport> {
  const topic = inspection.pipeline.topics.source;
  const wanted = Buffer.from(key);
  let newest: Match[] = [];
  let searched = 0;
  let matching = 0;
  await readRanges(
    inspection,
    await rangesBetween(inspection, topic, sinceMs),
    async ({ records }, { partition }) => {
      searched += records.length;
      for (const record of records) {
        if (record.key?.equals(wanted) !== true) continue;
        matching++;
        newest.push({ partition, offset: record.offset, timestampMs: record.timestampMs });
        // At twice the limit: sorting costs little for each match.
        if (newest.length > 2 * limit) newest = newestOf(newest, limit);
      }
    },
    (state) => progress({ ...state, matching }),
  );
  const records: Explanation[] = [];
  const asking = { ...inspection, remoteBatch: untilFailed(inspection.remoteBatch) };
  for (const match of newestOf(newest, limit)) records.push(await explainRecord(asking, match));
  return { topic, sinceMs, searched, matching, records };
}

/** Requests nothing more once the service has failed: each request would wait as long. */
function untilFailed(remoteBatch: Inspection['remoteBatch']): Inspection['remoteBatch'] {
  if (remoteBatch === undefined) return undefined;
  let failure: Promise<never> | undefined;
  return async (remoteId) => {
    if (failure !== undefined) return await failure;
    try {
      return await remoteBatch(remoteId);
    } catch (error) {
      failure = Promise.reject(error);
      return await failure;
    }
  };
}

function newestOf(matches: readonly Match[], limit: number): Match[] {
  return matches.toSorted((one, other) => other.timestampMs - one.timestampMs).slice(0, limit);
}

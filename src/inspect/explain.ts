/** What became of one source record: the jobs that named it, its terminal record, or where it is on its way. */
import { DEAD_LETTER_HEADERS } from '../core/dead-letter.ts';
import { coordinatesOf, type JobRecord } from '../core/job.ts';
import type { PartitionProgress } from '../core/journal-records.ts';
import type { PartitionBounds } from '../core/ports/topic-scan.ts';
import type { SourceCoordinate } from '../core/record.ts';
import { InspectError, type Inspection } from './context.ts';
import { type Explanation, type FoundTerminal, type NamingJob, type RecordState, summarise } from './explanation.ts';
import { batchBefore } from './journal-report.ts';
import { outputGaps } from './output-gaps.ts';
import { type JournalObserver, readShardJournal, type ShardJournal } from './shard-journal.ts';
import {
  headerText,
  type OutputRange,
  outputBounds,
  rangesBefore,
  rangesSince,
  scanTerminals,
  type TerminalRecord,
} from './terminal-scan.ts';

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
  const { scan, pipeline } = inspection;
  const bounds = await sourceBounds(inspection, at);
  const source = await sourceRecord(inspection, at, bounds);
  const shards = (await scan.bounds(pipeline.topics.journal)).size;
  const trace = new JobTrace(at);
  const journal = await readShardJournal(inspection, at.partition % shards, trace.observe);
  const progress = journal.state.progress.get(at.partition);
  const live = trace.jobs.find(({ record }) => journal.state.jobs.get(record.id)?.left.has(at.partition, at.offset));
  const settled = progress !== undefined && live === undefined && isClaimed(progress, at.offset);
  const compacted = source.record === 'none' && (await isCompacted(inspection));
  const worthAScan = thorough || (progress?.replay ?? 0) > 0 || (settled && (source.record !== 'none' || compacted));
  const { terminals, scanned } = worthAScan
    ? await findTerminals(inspection, at, source.timestampMs ?? trace.jobs[0]?.record.createdMs, {
        thorough: thorough || (progress?.replay ?? 0) > 0,
        settled,
      })
    : { terminals: [], scanned: [] };
  const notes: string[] = [];
  const liveJob = live && journal.state.jobs.get(live.record.id);
  const behind = liveJob && inspection.pipeline.inOrder ? batchBefore(liveJob, journal.state) : undefined;
  const jobs = await describeJobs(inspection, trace, { liveId: live?.record.id, behind }, notes);
  let state = stateOf({ inspection, at, source, progress, live: live !== undefined, settled, terminals, journal });
  if (state === 'missing') {
    const { completeSinceMs, compacted: replaced } = await outputGaps(inspection, await outputBounds(inspection));
    if (replaced || (source.timestampMs ?? 0) < completeSinceMs) {
      state = 'unknown';
      notes.push(replaced ? 'an output topic is compacted' : 'retention has removed the beginning of an output topic');
    }
  }
  const report = {
    ...at,
    state,
    source: { record: source.record, timestampMs: source.timestampMs ?? null, valueBytes: source.valueBytes ?? null },
    shard: journal.shard,
    owner: journal.state.owner === undefined ? null : { instance: journal.state.owner.instance, atMs: journal.state.owner.atMs },
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

async function sourceBounds({ scan, pipeline }: Inspection, { partition, offset }: SourceCoordinate): Promise<PartitionBounds> {
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
  readonly record: 'present' | 'none' | 'removed';
  readonly timestampMs?: number;
  readonly valueBytes?: number | null;
}

async function sourceRecord(
  { scan, pipeline, signal }: Inspection,
  { partition, offset }: SourceCoordinate,
  { start, stable }: PartitionBounds,
): Promise<SourceFacts> {
  if (offset < start) return { record: 'removed' };
  let facts: SourceFacts = { record: 'none' };
  // Beyond the stable end it belongs to an open transaction of its producer: not committed, perhaps never.
  await scan.read(
    pipeline.topics.source,
    { partition, from: offset, until: Math.min(offset + 1, stable) },
    (records) => {
      for (const { timestampMs, value } of records) facts = { record: 'present', timestampMs, valueBytes: value?.length ?? null };
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
        if (coordinatesOf(entry.value).has(partition, offset)) this.jobs.push({ record: entry.value, leftMs: null });
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
  { liveId, behind }: { readonly liveId: string | undefined; readonly behind: string | undefined },
  notes: string[],
): Promise<NamingJob[]> {
  const described: NamingJob[] = [];
  let ask = remoteBatch;
  for (const { record, leftMs } of jobs) {
    const service = await ask?.(record.remoteId).catch((error: unknown) => {
      signal.throwIfAborted();
      ask = undefined;
      notes.push(`the service did not answer: ${error instanceof Error ? error.message : String(error)}`);
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

async function findTerminals(
  inspection: Inspection,
  at: SourceCoordinate,
  sinceMs: number | undefined,
  { thorough, settled }: { readonly thorough: boolean; readonly settled: boolean },
): Promise<{ terminals: FoundTerminal[]; scanned: readonly OutputRange[] }> {
  const outputs = await outputBounds(inspection);
  const found: { readonly range: OutputRange; readonly terminal: TerminalRecord }[] = [];
  const search = (ranges: readonly OutputRange[]) =>
    scanTerminals(inspection, ranges, (terminal) => {
      if (terminal.partition !== at.partition || terminal.offset !== at.offset) return undefined;
      const range = ranges.find(({ kind, partition }) => kind === terminal.kind && partition === terminal.record.partition);
      if (range !== undefined) found.push({ range, terminal });
      return thorough ? undefined : 'enough';
    });
  const since = await rangesSince(inspection, outputs, sinceMs);
  const scanned = await search(since);
  if (found.length === 0 && settled) {
    const before = rangesBefore(outputs, since);
    if (before.length > 0) inspection.notice('not found since its timestamp: reading the outputs from their beginning');
    scanned.unshift(...(await search(before)));
  }
  return {
    terminals: found.map(({ range, terminal }) => describeTerminal(range.topic, terminal)),
    scanned: scanned.filter(({ from, until }) => until > from),
  };
}

function describeTerminal(topic: string, { kind, eventId, record }: TerminalRecord): FoundTerminal {
  const { partition, offset, timestampMs, headers } = record;
  const place = { kind, eventId, topic, partition, offset, timestampMs };
  if (kind === 'dead_letter') {
    const text = (name: keyof typeof DEAD_LETTER_HEADERS) => headerText(headers[DEAD_LETTER_HEADERS[name]]) ?? '';
    return { ...place, decision: null, deadLetter: { reason: text('reason'), stage: text('stage'), message: text('message') } };
  }
  return { ...place, decision: readDecision(String(record.value ?? '')), deadLetter: null };
}

/** Only what may be shown. null when the value is not a decision of this connector. */
function readDecision(json: string): FoundTerminal['decision'] {
  try {
    const { status, result, error, batch } = JSON.parse(json);
    return {
      status: String(status),
      result: typeof result === 'string' ? result : null,
      errorCode: typeof error?.code === 'string' ? error.code : null,
      batch: { id: typeof batch?.id === 'string' ? batch.id : null, type: String(batch?.type), attempt: Number(batch?.attempt) },
    };
  } catch {
    return null;
  }
}

function stateOf(facts: {
  readonly inspection: Inspection;
  readonly at: SourceCoordinate;
  readonly source: SourceFacts;
  readonly progress: PartitionProgress | undefined;
  readonly live: boolean;
  readonly settled: boolean;
  readonly terminals: readonly FoundTerminal[];
  readonly journal: ShardJournal;
}): RecordState {
  const { inspection, at, source, progress, live, settled, terminals, journal } = facts;
  if (live) return 'in_review';
  if (terminals.some(({ kind }) => kind === 'decision')) return 'decided';
  if (terminals.length > 0) return 'dead_lettered';
  if (source.record === 'none') return 'no_record';
  if (!settled) {
    if (source.record === 'removed') return 'removed';
    return progress !== undefined && at.offset < progress.read ? 'buffered' : 'not_read';
  }
  const start = journal.history.startOf(at.partition);
  if (start !== undefined && at.offset < start) return 'before_start';
  if (journal.history.passedOver(at.partition)?.has(at.offset)) return 'passed_over';
  if (source.record === 'removed') return 'removed';
  if (source.valueBytes === null && inspection.pipeline.skipsNullValues) return 'skipped';
  return journal.history.hasForgottenResets(at.partition) ? 'unknown' : 'missing';
}

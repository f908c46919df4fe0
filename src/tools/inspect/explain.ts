/** Outcome of single source records: an audit of only these records, with their terminal records and live jobs. */
import { placeOf, type SourceCoordinate } from '../../core/record.ts';
import { judgeRanges } from './audit.ts';
import { type Account, onlyAccount, type SourceRange, UNKNOWN_REASONS } from './audit-balance.ts';
import { InspectError, type InspectedPipeline, type Inspection } from './context.ts';
import { readDecision, type ShownDecision } from './decision-value.ts';
import {
  deadLetterCause,
  parseEventId,
  type ReadProgress,
  rangesBetween,
  readRanges,
  readUntilProven,
  type TerminalKind,
  type TerminalRecord,
} from './outputs.ts';
import { type JobReport, jobReport, type ShardJournal } from './shard-journal.ts';

export interface FoundTerminal {
  readonly kind: TerminalKind;
  readonly eventId: string;
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly timestampMs: number;
  /** null for a dead letter, and for a decision that cannot be read. */
  readonly decision: ShownDecision | null;
  /** null for a decision. */
  readonly deadLetter: ReturnType<typeof deadLetterCause> | null;
}

export interface Explanation extends SourceCoordinate {
  /** Account in the audit, or `noRecord` if the offset has no committed record at present. */
  readonly state: Account | 'noRecord';
  readonly summary: string;
  /** null if the record is no longer in the source. */
  readonly timestampMs: number | null;
  readonly shard: number;
  /** The last claim of the shard, or null if it was never claimed. */
  readonly owner: { readonly instance: string; readonly atMs: number } | null;
  /** Live job that contains the record. */
  readonly job: JobReport | null;
  /** Terminal records, oldest first. There may be several after a reset of the group. */
  readonly terminals: readonly FoundTerminal[];
  readonly notes: readonly string[];
}

/**
 * Returns the source record that is given as `partition:offset` or as an event id.
 * @throws InspectError `usage` for the event id of another topic
 */
export function namedRecord({ name, topics }: InspectedPipeline, text: string): SourceCoordinate {
  const [, partition, offset] = /^(\d{1,10}):(\d{1,15})$/.exec(text) ?? [];
  if (partition !== undefined) return { partition: Number(partition), offset: Number(offset) };
  const at = parseEventId(text, topics.source);
  if (at !== undefined) return { partition: at.partition, offset: at.offset };
  throw new InspectError(
    'usage',
    `${JSON.stringify(text)} is not an event id of pipeline ${name}, such as ${topics.source}-2-1371: check the id, or choose another pipeline with --pipeline`,
  );
}

/**
 * Explains several records with one reading of their journals and the outputs.
 * @returns one explanation for each record, in the same order
 * @throws InspectError `usage` for a partition or offset that does not exist yet
 */
export async function explainRecords(
  inspection: Inspection,
  places: readonly SourceCoordinate[],
): Promise<readonly Explanation[]> {
  if (places.length === 0) return [];
  const { scan, pipeline } = inspection;
  const { journals, builders, balances, firstMs, found } = await readUntilProven<
    Awaited<ReturnType<typeof readRecords>>
  >(inspection, (whole, before) => readRecords(inspection, places, whole, before));
  const isAttended = (await scan.members(pipeline.group)) > 0;
  const explanations: Explanation[] = [];
  for (const [index, { partition, offset }] of places.entries()) {
    const { shard, state: journal } = journals.get(partition) as ShardJournal;
    const live = [...journal.jobs.values()].find(({ left }) => left.has(partition, offset));
    const terminals: FoundTerminal[] = [];
    for (const one of found[index] ?? []) terminals.push(await foundTerminal(inspection, one));
    const facts: RecordFacts = {
      job: live === undefined ? null : jobReport(shard, live),
      newest: terminals.at(-1),
      account: balances[index] && onlyAccount(balances[index]),
      readTo: journal.progress.get(partition)?.read,
    };
    const state = stateOf(facts);
    const reasons = state === 'unknown' ? [...(builders[index]?.reasons ?? [])] : [];
    const notes = reasons.map((reason) => UNKNOWN_REASONS[reason]);
    if (!isAttended && (state === 'waiting' || state === 'live'))
      notes.push('no replica is running: nothing proceeds until one is started');
    const { owner } = journal;
    explanations.push({
      ...{ partition, offset, state, summary: summaryOf(state, facts) },
      timestampMs: firstMs[index] ?? null,
      shard,
      owner: owner === undefined ? null : { instance: owner.instance, atMs: owner.atMs },
      job: facts.job,
      terminals,
      notes,
    });
  }
  return explanations;
}

/** Audits the records, and collects their terminal records, oldest first. */
async function readRecords(
  inspection: Inspection,
  places: readonly SourceCoordinate[],
  whole: boolean,
  before: Parameters<typeof judgeRanges>[2]['before'],
) {
  const ranges: SourceRange[] = [];
  for (const at of places) ranges.push(await rangeOf(inspection, at));
  const found = new Map<string, TerminalRecord[]>(places.map((at) => [placeOf(at), []]));
  const observe = (journals: ReadonlyMap<number, ShardJournal>) => {
    const journalOf = ({ partition }: SourceCoordinate) => journals.get(partition) as ShardJournal;
    const expected = places.filter((at) => mayHaveEnded(at, journalOf(at)));
    const open = new Set(expected.map(placeOf));
    // After a reset, a record may have several terminal records.
    const isReset = expected.some((at) => replaysIn(at, journalOf(at)) > 0);
    if (open.size === 0) return undefined;
    return (terminal: TerminalRecord) => {
      const place = placeOf(terminal);
      found.get(place)?.push(terminal);
      open.delete(place);
      return open.size === 0 && !isReset ? 'enough' : undefined;
    };
  };
  const reading = await judgeRanges(inspection, ranges, { whole, before, observe });
  const inOrder = [...found.values()].map((terminals) =>
    terminals.sort((a, b) => a.replay - b.replay || a.record.timestampMs - b.record.timestampMs),
  );
  return { ...reading, found: inOrder };
}

const replaysIn = ({ partition }: SourceCoordinate, { state }: ShardJournal): number =>
  state.progress.get(partition)?.replay ?? 0;

/** Returns false if the record is in flight according to the journal. */
function mayHaveEnded(at: SourceCoordinate, { state }: ShardJournal): boolean {
  const { partition, offset } = at;
  const { replay = 0, watermark = Infinity, claimed } = state.progress.get(partition) ?? {};
  const isLive = [...state.jobs.values()].some(({ left }) => left.has(partition, offset));
  return replay > 0 || (!isLive && (offset < watermark || claimed?.has(offset) === true));
}

/** Returns the range with one record. It is empty if no committed record has this offset. @throws InspectError */
async function rangeOf(
  { scan, pipeline: { topics } }: Inspection,
  { partition, offset }: SourceCoordinate,
): Promise<SourceRange> {
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
  // Beyond the stable end, the record belongs to an open transaction of its producer, so it is not
  // committed at present.
  const isReadable = offset >= range.start && offset < range.stable;
  return { partition, from: offset, to: isReadable ? offset + 1 : offset };
}

interface RecordFacts {
  readonly job: JobReport | null;
  readonly newest: FoundTerminal | undefined;
  /** undefined if no committed record has this offset. */
  readonly account: Account | undefined;
  /** Position of intake in the record's partition. undefined if its shard was never claimed. */
  readonly readTo: number | undefined;
}

function stateOf({ job, newest, account }: RecordFacts): Explanation['state'] {
  // After a reset, the record may already have a terminal record and be in review again.
  if (job !== null) return 'live';
  if (newest === undefined) return account ?? 'noRecord';
  return newest.kind === 'decision' ? 'decided' : 'deadLettered';
}

const SUMMARIES = {
  skipped: 'Skipped: source.nullValues, source.filter or source.sample excludes it.',
  beforeStart: 'Older than the pipeline, which began at a later offset.',
  noRecord:
    'No committed record has this offset: retention or compaction has removed it, or it is a transaction marker, or part of an aborted or unfinished transaction.',
  missing:
    'MISSING: it is settled according to the journal, but neither output has a terminal record for it.',
  unknown: 'It has no terminal record, and the reason can no longer be determined: see the notes.',
} as const;

function summaryOf(state: Explanation['state'], { job, newest, readTo }: RecordFacts): string {
  switch (state) {
    case 'live':
      return `In review: batch ${job?.remoteId}, attempt ${job?.attempt}.`;
    case 'waiting':
      return readTo === undefined
        ? 'Not in a batch yet: no replica has ever claimed its shard.'
        : `Not in a batch yet: its partition was read up to offset ${readTo} when the position was last written.`;
    case 'deadLettered':
      return `A dead letter: ${newest?.deadLetter?.reason}, ${newest?.deadLetter?.message}.`;
    case 'decided': {
      if (!newest?.decision) return 'Decided; the decision cannot be read.';
      const { status, result, error, batch } = newest.decision;
      const code = error ? ` (${error.code})` : '';
      const from = batch ? `, batch ${batch.id}, attempt ${batch.attempt}` : '';
      return `Decided: ${status}${result ? ` ${result}` : ''}${code}${from}.`;
    }
    default:
      return SUMMARIES[state];
  }
}

async function foundTerminal(
  { readFramed }: Inspection,
  { kind, topic, eventId, record }: TerminalRecord,
): Promise<FoundTerminal> {
  const { partition, offset, timestampMs, value } = record;
  const found = { kind, eventId, topic, partition, offset, timestampMs };
  if (kind === 'dead_letter')
    return { ...found, decision: null, deadLetter: deadLetterCause(record) };
  return { ...found, decision: await readDecision(value, readFramed), deadLetter: null };
}

/** Search for source records with a key, within a period. */
export interface SearchRequest {
  readonly key: string;
  /** First timestamp in ms. */
  readonly sinceMs: number;
  /** Maximum number of matches to explain, newest first. */
  readonly limit: number;
}

export interface SearchReport {
  readonly topic: string;
  readonly sinceMs: number;
  /** Number of records read. */
  readonly searched: number;
  readonly matching: number;
  /** Explanations, newest record first. */
  readonly records: readonly Explanation[];
}

/** Searches committed records up to the stable ends that the topic has at the start. @throws InspectError */
export async function search(
  inspection: Inspection,
  { key, sinceMs, limit }: SearchRequest,
  progress: (state: ReadProgress & { readonly matching: number }) => void = () => {},
): Promise<SearchReport> {
  const topic = inspection.pipeline.topics.source;
  const wanted = Buffer.from(key);
  let newest: (SourceCoordinate & { readonly timestampMs: number })[] = [];
  let searched = 0;
  let matching = 0;
  const trim = () => {
    newest = newest.sort((a, b) => b.timestampMs - a.timestampMs).slice(0, limit);
  };
  await readRanges(
    inspection,
    await rangesBetween(inspection, topic, sinceMs),
    async ({ records }, { partition }) => {
      searched += records.length;
      for (const { key: found, offset, timestampMs } of records) {
        if (found?.equals(wanted) !== true) continue;
        matching++;
        newest.push({ partition, offset, timestampMs });
        // Only trims at twice the limit, so that sorting costs little per match.
        if (newest.length > 2 * limit) trim();
      }
    },
    (state) => progress({ ...state, matching }),
  );
  trim();
  const records = await explainRecords(inspection, newest);
  return { topic, sinceMs, searched, matching, records };
}

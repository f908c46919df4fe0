/**
 * The balance of any range of a running pipeline: what became of each source record (invariants I1 and I2, seen from outside).
 *
 * The order of reading is what makes it right while the connector runs:
 *
 * 1. The source's stable ends. They bound the range: what is written later is not looked at.
 * 2. The journals. From here on *settled* is what the journal says is settled.
 * 3. The ends of the outputs, open transactions included. A commit that the journal shows had its terminal records
 *    acknowledged before, so they lie below these ends, even where their own partition does not show the commit yet.
 * 4. The outputs up to those ends, waiting for the transactions open there. What settled meanwhile is found too: a terminal
 *    record counts, whatever the journal said.
 * 5. The source records, each of which is put into one account.
 *
 * So a record without a terminal record was settled before 2 and its terminal record should lie before 3: it is missing. What
 * was in flight at 2 is in flight, or settled by 4; never missing.
 */

import {
  BalanceBuilder,
  type JournalWord,
  type OutputLimits,
  type PartitionBalance,
  TerminalTally,
  type UnknownReason,
} from './balance.ts';
import { InspectError, type Inspection } from './context.ts';
import { outputGaps } from './output-gaps.ts';
import { readShardJournal, type ShardJournal } from './shard-journal.ts';
import { firstTimestamp, type OutputRange, outputBounds, rangesBefore, rangesSince, scanTerminals } from './terminal-scan.ts';

export interface AuditRequest {
  /** Empty: all. */
  readonly partitions: readonly number[];
  /** First offset, or first timestamp (ms); neither: from the beginning. */
  readonly from?: number;
  readonly sinceMs?: number;
  /** One past the last offset; default the end when the audit begins. */
  readonly to?: number;
}

export type AuditTotals = Omit<
  PartitionBalance,
  'partition' | 'from' | 'to' | 'missingOffsets' | 'doubleOffsets' | 'withoutSourceOffsets'
>;

export interface AuditReport {
  /** The worst of what was found; `double` also says that a record which was never committed has a terminal record. */
  readonly verdict: 'balanced' | 'missing' | 'double' | 'unknown';
  readonly partitions: readonly PartitionBalance[];
  readonly totals: AuditTotals;
  /** What of the outputs was read. */
  readonly scanned: readonly OutputRange[];
  /** Why some records could not be judged, and other things to know, a sentence each. */
  readonly notes: readonly string[];
}

/** Audits a range. @throws InspectError */
export async function audit(inspection: Inspection, request: AuditRequest): Promise<AuditReport> {
  const tallies = await rangesOf(inspection, request);
  const journals = await journalsOf(inspection, tallies);
  const outputs = await outputBounds(inspection);
  const oldest = await oldestTimestamp(inspection, tallies);
  let scanned = oldest === undefined ? [] : await rangesSince(inspection, outputs, oldest);
  const count = (ranges: readonly OutputRange[]) =>
    scanTerminals(inspection, ranges, ({ kind, partition, offset, replay }) => {
      tallies.get(partition)?.add(kind, offset, replay);
      return undefined;
    });
  await count(scanned);
  let judged = await judge(inspection, tallies, journals, baseLimits(inspection));
  if (judged.balances.some(({ missing }) => missing > 0)) {
    // A producer's timestamp may lie ahead of the time at which the record was really there: look at all of it before saying so.
    const before = rangesBefore(outputs, scanned);
    if (before.length > 0) inspection.notice('some records seem to be missing: reading the outputs from their beginning');
    await count(before);
    scanned = await rangesSince(inspection, outputs, undefined);
    judged = await judge(inspection, tallies, journals, {
      ...baseLimits(inspection),
      ...(await outputGaps(inspection, outputs)),
    });
  }
  return await report(inspection, judged.balances, judged.reasons, scanned);
}

/** Step 1. */
async function rangesOf(inspection: Inspection, request: AuditRequest): Promise<Map<number, TerminalTally>> {
  const { scan, pipeline } = inspection;
  const bounds = await scan.bounds(pipeline.topics.source);
  const firstAt = request.sinceMs === undefined ? undefined : await scan.firstAt(pipeline.topics.source, request.sinceMs);
  const wanted = request.partitions.length === 0 ? [...bounds.keys()] : [...new Set(request.partitions)].sort((a, b) => a - b);
  const tallies = new Map<number, TerminalTally>();
  for (const partition of wanted) {
    const range = bounds.get(partition);
    if (range === undefined) {
      throw new InspectError(
        'usage',
        `topic ${pipeline.topics.source} has no partition ${partition}: it has ${bounds.size}, from 0 to ${bounds.size - 1}`,
      );
    }
    const from = Math.max(request.from ?? firstAt?.get(partition) ?? range.start, range.start);
    const to = Math.max(from, Math.min(request.to ?? range.stable, range.stable));
    tallies.set(partition, new TerminalTally(partition, from, to));
  }
  return tallies;
}

/** Step 2. */
async function journalsOf(
  inspection: Inspection,
  tallies: ReadonlyMap<number, TerminalTally>,
): Promise<ReadonlyMap<number, ShardJournal>> {
  const shards = (await inspection.scan.bounds(inspection.pipeline.topics.journal)).size;
  const journals = new Map<number, ShardJournal>();
  for (const shard of new Set([...tallies.keys()].map((partition) => partition % shards))) {
    const journal = await readShardJournal(inspection, shard);
    for (const partition of tallies.keys()) if (partition % shards === shard) journals.set(partition, journal);
  }
  return journals;
}

/** Where the outputs have to be read from; undefined when the range holds no record. */
async function oldestTimestamp(inspection: Inspection, tallies: ReadonlyMap<number, TerminalTally>): Promise<number | undefined> {
  let oldest: number | undefined;
  for (const { partition, from, to } of tallies.values()) {
    const first = await firstTimestamp(inspection, inspection.pipeline.topics.source, { partition, from, until: to });
    if (first !== undefined) oldest = Math.min(oldest ?? first, first);
  }
  return oldest;
}

function baseLimits({ pipeline }: Inspection): OutputLimits {
  return {
    completeSinceMs: Number.NEGATIVE_INFINITY,
    compacted: false,
    startUnknown: pipeline.startFrom === 'latest',
    skipsNullValues: pipeline.skipsNullValues,
  };
}

/** Step 5. */
async function judge(
  inspection: Inspection,
  tallies: ReadonlyMap<number, TerminalTally>,
  journals: ReadonlyMap<number, ShardJournal>,
  limits: OutputLimits,
): Promise<{ readonly balances: PartitionBalance[]; readonly reasons: ReadonlySet<UnknownReason> }> {
  const { scan, pipeline, signal } = inspection;
  const balances: PartitionBalance[] = [];
  const reasons = new Set<UnknownReason>();
  for (const tally of tallies.values()) {
    const { partition, from, to } = tally;
    const builder = new BalanceBuilder(tally, journalWord(journals.get(partition), partition), limits);
    await scan.read(
      pipeline.topics.source,
      { partition, from, until: to },
      (records) => {
        for (const { offset, timestampMs, value } of records) builder.take({ offset, timestampMs, hasValue: value !== null });
      },
      signal,
    );
    for (const reason of builder.reasons) reasons.add(reason);
    const { start = 0 } = (await scan.bounds(pipeline.topics.source)).get(partition) ?? {};
    balances.push(builder.finish(start));
  }
  return { balances, reasons };
}

function journalWord(journal: ShardJournal | undefined, partition: number): JournalWord {
  const progress = journal?.state.progress.get(partition);
  const live = journal?.live.get(partition);
  const passedOver = journal?.history.passedOver(partition);
  return {
    watermark: progress?.watermark ?? 0,
    isClaimed: (offset) => progress?.claimed.has(offset) ?? false,
    isLive: (offset) => live?.has(offset) ?? false,
    start: journal?.history.startOf(partition),
    isPassedOver: (offset) => passedOver?.has(offset) ?? false,
    hasForgottenResets: journal?.history.hasForgottenResets(partition) ?? false,
  };
}

const REASONS: Readonly<Record<UnknownReason, string>> = {
  retention: 'retention has removed the beginning of an output topic: older records may have had their terminal record there',
  compaction: 'an output topic is compacted: a newer record with the same key may have replaced a terminal record',
  reset: 'the group was reset, and the journal no longer tells which records that passed over',
  start: 'source.startFrom is latest, and the journal no longer tells where the pipeline began',
};

async function report(
  { admin, pipeline }: Inspection,
  balances: readonly PartitionBalance[],
  reasons: ReadonlySet<UnknownReason>,
  scanned: readonly OutputRange[],
): Promise<AuditReport> {
  const totals: Record<keyof AuditTotals, number> = {
    records: 0,
    decided: 0,
    deadLettered: 0,
    skipped: 0,
    passedOver: 0,
    beforeStart: 0,
    waiting: 0,
    live: 0,
    missing: 0,
    unknown: 0,
    double: 0,
    withoutSource: 0,
    replayed: 0,
  };
  for (const balance of balances) for (const key of Object.keys(totals) as (keyof AuditTotals)[]) totals[key] += balance[key];
  const notes = [...reasons].map((reason) => REASONS[reason]);
  let tooMany = totals.double > 0;
  if (totals.withoutSource > 0) {
    const compacted = (await admin.describeTopic(pipeline.topics.source))?.settings.get('cleanup.policy')?.includes('compact');
    if (compacted === true) notes.push('the source topic is compacted: some records with a terminal record are gone from it');
    else tooMany = true;
  }
  const verdict = totals.missing > 0 ? 'missing' : tooMany ? 'double' : totals.unknown > 0 ? 'unknown' : 'balanced';
  return { verdict, partitions: balances, totals, scanned, notes };
}

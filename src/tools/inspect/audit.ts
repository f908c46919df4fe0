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
 * was in flight at 2 is in flight, or settled by 4; never missing. What seems to be missing is looked at once more (`lookAt`).
 */

import type { OffsetSet } from '../../core/offsets/offset-set.ts';
import { type JournalWord, type Limits, REASONS, type UnknownReason } from './account.ts';
import { BalanceBuilder, emptyCounts, type PartitionBalance, TerminalTally } from './balance.ts';
import { InspectError, type Inspection } from './context.ts';
import { NO_GAPS, outputGaps } from './output-gaps.ts';
import { forgottenOffsets, journalWord, readShardJournal } from './shard-journal.ts';
import {
  firstTimestamp,
  type OutputRange,
  outputBounds,
  rangesBefore,
  rangesSince,
  scanTerminals,
} from './terminal-scan.ts';

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
  const { ranges, notes } = await rangesOf(inspection, request);
  let look = await lookAt(inspection, ranges, { whole: false });
  if (!look.whole && look.balances.some(({ missing, unknown }) => missing > 0 || unknown > 0)) {
    // A producer's timestamp may lie ahead of the time at which the record was really there.
    inspection.notice('some records seem to be missing: reading the outputs from their beginning');
    look = await lookAt(inspection, ranges, { whole: true });
  }
  if (look.missing.size > 0) {
    inspection.notice('some records seem to be missing: looking again before saying so');
    look = await lookAt(inspection, ranges, { whole: true, suspects: look.missing });
  }
  return await report(inspection, look, notes);
}

interface Range {
  readonly partition: number;
  readonly from: number;
  readonly to: number;
}

interface Look {
  readonly balances: readonly PartitionBalance[];
  readonly reasons: ReadonlySet<UnknownReason>;
  /** By partition, where some are. */
  readonly missing: ReadonlyMap<number, OffsetSet>;
  readonly scanned: readonly OutputRange[];
  /** The outputs were read from their beginning. */
  readonly whole: boolean;
}

/**
 * Steps 2 to 5. A journal that is compacted while it is read may show a job neither where it was nor where it went, and
 * retention may cut an output behind the reader's back: what seems to be missing is believed only when a second look,
 * at everything anew, finds the same records missing.
 */
async function lookAt(
  inspection: Inspection,
  ranges: readonly Range[],
  {
    whole,
    suspects,
  }: { readonly whole: boolean; readonly suspects?: ReadonlyMap<number, OffsetSet> },
): Promise<Look> {
  const tallies = new Map(
    ranges.map(
      ({ partition, from, to }) => [partition, new TerminalTally(partition, from, to)] as const,
    ),
  );
  const journals = await journalsOf(inspection, tallies);
  const outputs = await outputBounds(inspection);
  const oldest = whole ? undefined : await oldestTimestamp(inspection, ranges);
  const scanned =
    whole || oldest !== undefined ? await rangesSince(inspection, outputs, oldest) : [];
  await scanTerminals(inspection, scanned, ({ kind, partition, offset, replay }) => {
    tallies.get(partition)?.add(kind, offset, replay);
    return undefined;
  });
  // After the reading: what is gone from the beginning now may have gone before it was read.
  const gaps = whole ? await outputGaps(inspection, await outputBounds(inspection)) : NO_GAPS;
  const skips = { skipsNullValues: inspection.pipeline.skipsNullValues };
  const judged = await judge(inspection, tallies, journals, (partition) => ({
    ...gaps,
    ...skips,
    isSuspect: (offset) => suspects === undefined || suspects.get(partition)?.has(offset) === true,
  }));
  return { ...judged, scanned, whole: rangesBefore(outputs, scanned).length === 0 };
}

/** Step 1. */
async function rangesOf(
  inspection: Inspection,
  request: AuditRequest,
): Promise<{ ranges: readonly Range[]; notes: readonly string[] }> {
  if (request.from !== undefined && request.to !== undefined && request.from >= request.to) {
    throw new InspectError(
      'usage',
      `a range from ${request.from} to ${request.to} (not included) holds nothing`,
    );
  }
  const { scan, pipeline } = inspection;
  const bounds = await scan.bounds(pipeline.topics.source);
  const firstAt =
    request.sinceMs === undefined
      ? undefined
      : await scan.firstAt(pipeline.topics.source, request.sinceMs);
  const wanted =
    request.partitions.length === 0
      ? [...bounds.keys()]
      : [...new Set(request.partitions)].sort((a, b) => a - b);
  const cut: string[] = [];
  const ranges = wanted.map((partition) => {
    const range = bounds.get(partition);
    if (range === undefined) {
      throw new InspectError(
        'usage',
        `topic ${pipeline.topics.source} has no partition ${partition}: it has ${bounds.size}, from 0 to ${bounds.size - 1}`,
      );
    }
    const from = Math.max(request.from ?? firstAt?.get(partition) ?? range.start, range.start);
    const to = Math.max(from, Math.min(request.to ?? range.stable, range.stable));
    // What was asked for by offset, and is not there.
    if ((request.from ?? from) < from || (request.to ?? to) > to)
      cut.push(`partition ${partition} to [${from}, ${to})`);
    return { partition, from, to };
  });
  const first = request.from ?? 0;
  if (first > 0 && wanted.every((partition) => first >= (bounds.get(partition)?.stable ?? 0))) {
    const ends = ranges.map(({ partition }) => bounds.get(partition)?.stable);
    throw new InspectError(
      'usage',
      `nothing has offset ${first} yet: the partitions of ${pipeline.topics.source} that are asked for end at ${ends.join(', ')}`,
    );
  }
  return {
    ranges,
    notes: cut.length === 0 ? [] : [`cut to what the source has: ${cut.join(', ')}`],
  };
}

/** Step 2. */
async function journalsOf(
  inspection: Inspection,
  tallies: ReadonlyMap<number, TerminalTally>,
): Promise<ReadonlyMap<number, JournalWord>> {
  const shards = (await inspection.scan.bounds(inspection.pipeline.topics.journal)).size;
  const words = new Map<number, JournalWord>();
  for (const shard of new Set([...tallies.keys()].map((partition) => partition % shards))) {
    const journal = await readShardJournal(inspection, shard);
    const partitions = [...tallies.keys()].filter((partition) => partition % shards === shard);
    const forgotten = await forgottenOffsets(inspection, journal, partitions);
    for (const partition of partitions)
      words.set(partition, journalWord(journal, partition, forgotten.get(partition)));
  }
  return words;
}

/** Where the outputs have to be read from; undefined when the range holds no record. */
async function oldestTimestamp(
  inspection: Inspection,
  ranges: readonly Range[],
): Promise<number | undefined> {
  let oldest: number | undefined;
  for (const { partition, from, to } of ranges) {
    const first = await firstTimestamp(inspection, inspection.pipeline.topics.source, {
      partition,
      from,
      until: to,
    });
    if (first !== undefined) oldest = Math.min(oldest ?? first, first);
  }
  return oldest;
}

/** Step 5. */
async function judge(
  inspection: Inspection,
  tallies: ReadonlyMap<number, TerminalTally>,
  journals: ReadonlyMap<number, JournalWord>,
  limitsOf: (partition: number) => Limits,
): Promise<Pick<Look, 'balances' | 'reasons' | 'missing'>> {
  const { scan, pipeline, signal } = inspection;
  const balances: PartitionBalance[] = [];
  const reasons = new Set<UnknownReason>();
  const missing = new Map<number, OffsetSet>();
  for (const tally of tallies.values()) {
    const { partition, from, to } = tally;
    const { isFiltered } = pipeline;
    const builder = new BalanceBuilder(
      tally,
      journals.get(partition) ?? journalWord(undefined, partition),
      limitsOf(partition),
    );
    await scan.read(
      pipeline.topics.source,
      { partition, from, until: to },
      ({ records, unreadable }) => {
        for (const record of records) {
          const { offset, timestampMs, value } = record;
          builder.take({
            offset,
            timestampMs,
            hasValue: value !== null,
            isFiltered: isFiltered && (() => isFiltered(record)),
          });
        }
        // What stands there is not known: each offset counts as a record, and has its dead letter.
        const { from: first = 0, to: end = 0, timestampMs = 0 } = unreadable ?? {};
        for (let offset = first; offset < end; offset++)
          builder.take({ offset, timestampMs, hasValue: true });
      },
      signal,
    );
    for (const reason of builder.reasons) reasons.add(reason);
    if (builder.missing.size > 0) missing.set(partition, builder.missing);
    const { start = 0 } = (await scan.bounds(pipeline.topics.source)).get(partition) ?? {};
    balances.push(builder.finish(start));
  }
  return { balances, reasons, missing };
}

async function report(
  { admin, pipeline }: Inspection,
  { balances, reasons, scanned }: Look,
  about: readonly string[],
): Promise<AuditReport> {
  const totals: Record<keyof AuditTotals, number> = {
    ...emptyCounts(),
    double: 0,
    withoutSource: 0,
    replayed: 0,
  };
  for (const balance of balances)
    for (const key of Object.keys(totals) as (keyof AuditTotals)[]) totals[key] += balance[key];
  const notes = [...about, ...[...reasons].map((reason) => REASONS[reason])];
  let tooMany = totals.double > 0;
  if (totals.withoutSource > 0) {
    const compacted = (await admin.describeTopic(pipeline.topics.source))?.settings
      .get('cleanup.policy')
      ?.includes('compact');
    if (compacted === true)
      notes.push(
        'the source topic is compacted: some records with a terminal record are gone from it',
      );
    else tooMany = true;
  }
  const verdict =
    totals.missing > 0
      ? 'missing'
      : tooMany
        ? 'double'
        : totals.unknown > 0
          ? 'unknown'
          : 'balanced';
  return { verdict, partitions: balances, totals, scanned, notes };
}

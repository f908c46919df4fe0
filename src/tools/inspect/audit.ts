/**
 * Balance of any range of a running pipeline: the outcome of each source record (invariants I1 and
 * I2, seen from outside).
 *
 * The order of reading makes the balance right while the connector runs:
 *
 * 1. The stable ends of the source. They bound the range: later records are ignored.
 * 2. The journals. From here on, *settled* is what the journal calls settled.
 * 3. The ends of the outputs, open transactions included. The terminal records of a commit that the
 *    journal shows were acknowledged before it, so they lie below these ends, even where their own
 *    partition does not show the commit yet.
 * 4. The outputs up to those ends, waiting for the transactions open there. Records that settled
 *    meanwhile are found too: a terminal record counts, whatever the journal shows.
 * 5. The source records, each of which is counted in one account.
 *
 * So a record without a terminal record was settled before 2 and its terminal record should lie
 * before 3: it is missing. A record in flight at 2 is in flight, or settled by 4; never missing.
 */

import {
  BalanceBuilder,
  type BalanceCounts,
  emptyCounts,
  type PartitionBalance,
  type SourceRange,
  UNKNOWN_REASONS,
} from './audit-balance.ts';
import { type Inspection, isCompacted } from './context.ts';
import {
  firstTimestamp,
  NO_GAPS,
  type OutputPositions,
  readOutputs,
  readUntilProven,
} from './outputs.ts';
import { journalEvidence, readShardJournal } from './shard-journal.ts';

export interface AuditRequest {
  /** First timestamp, ms; default: from the beginning. */
  readonly sinceMs?: number | undefined;
}

export interface AuditReport {
  /** The worst that was found; `double` also covers terminal records without a source record. */
  readonly verdict: 'balanced' | 'missing' | 'double' | 'unknown';
  readonly partitions: readonly PartitionBalance[];
  readonly totals: BalanceCounts;
  /** Number of output offsets read. */
  readonly outputOffsets: number;
  /** Reasons why some records could not be judged, and other remarks, a sentence each. */
  readonly notes: readonly string[];
}

/** Records of earlier audits that a note names. */
const NAMED_LATE = 20;

/** Position from which a later audit continues. */
export interface AuditProgress {
  /** By source partition: the first audited offset, and the first that was not settled yet. */
  readonly sources: ReadonlyMap<number, { readonly first: number; readonly next: number }>;
  readonly outputs: OutputPositions;
}

/** Audits a range. @throws InspectError */
export async function audit(
  inspection: Inspection,
  request: AuditRequest = {},
): Promise<AuditReport> {
  return (await auditFrom(inspection, request)).report;
}

/**
 * Audits a range, or the rest of the topic after an earlier audit.
 * @param resumed progress of the earlier audit. Terminal records that came since then for records
 *   that already had one are double
 * @throws InspectError
 */
export async function auditFrom(
  inspection: Inspection,
  request: AuditRequest,
  resumed?: AuditProgress,
): Promise<{ report: AuditReport; progress: AuditProgress }> {
  const { ranges, progress } = await rangesOf(inspection, request, resumed);
  const notes: string[] = [];
  const { builders, balances, offsets, late, ends } = await readUntilProven<
    Awaited<ReturnType<typeof readRanges>>
  >(inspection, (whole, before) => readRanges(inspection, ranges, progress, whole, before));

  const totals = emptyCounts();
  for (const balance of balances)
    for (const key of Object.keys(totals) as (keyof BalanceCounts)[]) totals[key] += balance[key];
  totals.double += late.count;
  if (late.count > 0)
    notes.push(
      `${late.count} records of an earlier audit have another terminal record: ${late.named.join(', ')}`,
    );
  for (const reason of new Set(builders.flatMap(({ reasons }) => [...reasons])))
    notes.push(UNKNOWN_REASONS[reason]);
  let tooMany = totals.double > 0;
  if (totals.withoutSource > 0) {
    if (await isCompacted(inspection, inspection.pipeline.topics.source))
      notes.push('the source topic is compacted: some records with a terminal record are gone');
    else tooMany = true;
  }
  const verdict = tooMany ? 'double' : totals.unknown > 0 ? 'unknown' : 'balanced';
  const sources = balances.map(({ partition, from, settledTo: next }) => {
    const before = progress?.sources.get(partition)?.first ?? from;
    return [partition, { first: Math.min(before, from), next }] as const;
  });
  return {
    report: {
      verdict: totals.missing > 0 ? 'missing' : verdict,
      partitions: balances,
      totals,
      outputOffsets: offsets,
      notes,
    },
    progress: { sources: new Map(sources), outputs: ends },
  };
}

/** Step 1. */
async function rangesOf(
  { scan, pipeline: { topics } }: Inspection,
  { sinceMs }: AuditRequest,
  resumed: AuditProgress | undefined,
): Promise<{ ranges: readonly SourceRange[]; progress: AuditProgress | undefined }> {
  const bounds = await scan.bounds(topics.source);
  // Beyond the end: the topic was deleted and created again.
  const isResumed = (partition: number, next: number) => next <= (bounds.get(partition)?.end ?? 0);
  const progress = resumed && {
    ...resumed,
    sources: new Map([...resumed.sources].filter(([of, { next }]) => isResumed(of, next))),
  };
  const since =
    progress === undefined && sinceMs !== undefined
      ? await scan.firstAt(topics.source, sinceMs)
      : undefined;
  const ranges = Array.from(bounds, ([partition, { start, stable }]): SourceRange => {
    const next = progress?.sources.get(partition)?.next ?? 0;
    const from = Math.max(since?.get(partition) ?? next, start);
    return { partition, from, to: Math.max(from, stable) };
  });
  return { ranges, progress };
}

/** Steps 2 to 5. */
async function readRanges(
  inspection: Inspection,
  ranges: readonly SourceRange[],
  progress: AuditProgress | undefined,
  whole: boolean,
  before: { readonly builders: readonly BalanceBuilder[] } | undefined,
) {
  const builders = await openBalances(inspection, ranges);
  const oldestMs = await oldestTimestamp(inspection, ranges);
  const late = { count: 0, named: [] as string[] };
  const read =
    oldestMs === undefined && progress === undefined
      ? { offsets: 0, whole: true, gaps: NO_GAPS, ends: new Map<string, number>() }
      : await readOutputs(
          inspection,
          whole ? undefined : (oldestMs ?? Number.MAX_SAFE_INTEGER),
          ({ kind, topic, partition, offset, replay, record }) => {
            builders.get(partition)?.addTerminal(kind, offset, replay);
            const { first = 0, next = 0 } = progress?.sources.get(partition) ?? {};
            const readTo = progress?.outputs.get(`${topic}-${record.partition}`) ?? 0;
            const isSettled = replay === 0 && offset >= first && offset < next;
            if (!isSettled || record.offset < readTo) return undefined;
            late.count++;
            if (late.named.length < NAMED_LATE) late.named.push(`${partition}:${offset}`);
            return undefined;
          },
          progress?.outputs,
        );

  const balances: PartitionBalance[] = [];
  for (const builder of builders.values()) {
    const { partition } = builder.range;
    const suspects = before?.builders.find(({ range }) => range.partition === partition)?.missing;
    const evidence = {
      ...read.gaps,
      skipsNullValues: inspection.pipeline.skipsNullValues,
      isSuspect: (offset: number) => before === undefined || suspects?.has(offset) === true,
    };
    balances.push(await balanceOf(inspection, builder, evidence));
  }
  const isIn = (account: 'missing' | 'unknown') => balances.some((one) => one[account] > 0);
  const doubt = isIn('missing') ? 'missing' : isIn('unknown') ? 'unknown' : undefined;
  return { ...read, builders: [...builders.values()], balances, late, doubt } as const;
}

/** Step 2. */
async function openBalances(
  inspection: Inspection,
  ranges: readonly SourceRange[],
): Promise<ReadonlyMap<number, BalanceBuilder>> {
  const shards = (await inspection.scan.bounds(inspection.pipeline.topics.journal)).size;
  const builders = new Map<number, BalanceBuilder>();
  for (const [shard, own] of Map.groupBy(ranges, ({ partition }) => partition % shards)) {
    const journal = await readShardJournal(inspection, shard);
    const partitions = own.map(({ partition }) => partition);
    const evidence = await journalEvidence(inspection, journal, partitions);
    for (const range of own)
      builders.set(range.partition, new BalanceBuilder(range, evidence(range.partition)));
  }
  return builders;
}

/** @returns undefined when the ranges hold no record */
async function oldestTimestamp(
  inspection: Inspection,
  ranges: readonly SourceRange[],
): Promise<number | undefined> {
  let oldest: number | undefined;
  for (const { partition, from, to } of ranges) {
    const range = { partition, from, until: to };
    const first = await firstTimestamp(inspection, inspection.pipeline.topics.source, range);
    if (first !== undefined) oldest = Math.min(oldest ?? first, first);
  }
  return oldest;
}

/** Step 5. */
async function balanceOf(
  { scan, pipeline, signal }: Inspection,
  builder: BalanceBuilder,
  evidence: Parameters<BalanceBuilder['take']>[1],
): Promise<PartitionBalance> {
  const { partition, from, to } = builder.range;
  const { isFiltered, topics } = pipeline;
  await scan.read(
    topics.source,
    { partition, from, until: to },
    ({ records, unreadable }) => {
      for (const record of records) {
        const { offset, timestampMs, value } = record;
        const filter = isFiltered && (() => isFiltered(record));
        const hasValue = value !== null;
        builder.take({ offset, timestampMs, hasValue, isFiltered: filter }, evidence);
      }
      if (unreadable === undefined) return;
      // The number of records is not known: each offset has a dead letter, and counts as one.
      const { timestampMs } = unreadable;
      for (let offset = unreadable.from; offset < unreadable.to; offset++)
        builder.take({ offset, timestampMs, hasValue: true }, evidence);
    },
    signal,
  );
  const { start = 0 } = (await scan.bounds(topics.source)).get(partition) ?? {};
  return builder.finish(start);
}

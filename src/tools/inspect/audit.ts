/**
 * Audit of any range of a running pipeline: the outcome of each source record (invariants I1 and
 * I2, verified from outside).
 *
 * The order of the steps makes the result correct while the connector is running:
 *
 * 1. Read the stable ends of the source. They limit the range: later records are ignored.
 * 2. Read the journals. In the next steps, *settled* means settled in these journals.
 * 3. Read the ends of the outputs, including open transactions. The terminal records of any commit
 *    in the journals are below these ends, because they were acknowledged before that commit.
 * 4. Read the outputs up to these ends, waiting for transactions that are open there. This also
 *    finds records that were settled since step 2. A terminal record counts in any case.
 * 5. Read the source records, and count each in one account.
 *
 * So if a record is settled at step 2, its terminal record must be below the ends of step 3. If
 * there is none, the record is missing. A record in flight at step 2 is never counted as missing.
 */

import type { Hold } from '../../core/journal/control.ts';
import {
  BalanceBuilder,
  type BalanceCounts,
  emptyCounts,
  type JournalEvidence,
  type PartitionBalance,
  type SourceRange,
  UNKNOWN_REASONS,
} from './audit-balance.ts';
import { type Inspection, isCompacted } from './context.ts';
import {
  firstTimestamp,
  NO_GAPS,
  type OnTerminal,
  type OutputPositions,
  readOutputs,
  readUntilProven,
} from './outputs.ts';
import {
  type JobReport,
  jobReport,
  journalEvidence,
  newestOf,
  readShardJournal,
  type ShardJournal,
} from './shard-journal.ts';

export interface AuditRequest {
  /** First timestamp in ms. Default: the beginning. Ignored if there is an earlier position. */
  readonly sinceMs?: number | undefined;
  /** Position of an incremental audit. */
  readonly position?: PositionStore | undefined;
}

/** Position at which an audit ended. */
export interface AuditPosition {
  /** First audited offset, and first offset that was not settled yet, by source partition. */
  readonly sources: ReadonlyMap<number, { readonly first: number; readonly next: number }>;
  readonly outputs: OutputPositions;
}

export interface PositionStore {
  /** @returns undefined if there was no earlier audit */
  read(): Promise<AuditPosition | undefined>;
  write(position: AuditPosition): Promise<void>;
}

/** Maximum number of records from earlier audits that a note lists. */
const MAX_LISTED = 20;

export interface ShardReport {
  readonly shard: number;
  /** The last claim, or null if the shard was never claimed. An idle owner renews `atMs` regularly. */
  readonly owner: { readonly instance: string; readonly atMs: number } | null;
  /** Live jobs, oldest first. */
  readonly jobs: readonly JobReport[];
}

export interface AuditReport {
  /** The most serious finding. `double` also covers terminal records without a source record. */
  readonly verdict: 'balanced' | 'missing' | 'double' | 'unknown';
  readonly partitions: readonly PartitionBalance[];
  readonly totals: BalanceCounts;
  /** An operator's current command, or null if there is none. */
  readonly hold: Hold | null;
  readonly shards: readonly ShardReport[];
  /** Number of output offsets read. */
  readonly outputOffsets: number;
  /** Reasons why some records could not be judged, and other remarks. Each is a sentence. */
  readonly notes: readonly string[];
}

/**
 * Audits a range, or the rest of the topic from an earlier position. New terminal records for
 * records below that position count as double. Saves the new position unless records are missing or
 * double.
 * @throws InspectError, or the store's error
 */
export async function audit(
  inspection: Inspection,
  { sinceMs, position }: AuditRequest = {},
): Promise<AuditReport> {
  const { ranges, resumed } = await rangesOf(inspection, sinceMs, await position?.read());
  const notes: string[] = [];
  const { builders, balances, journals, offsets, ends, late } = await readUntilProven<
    Awaited<ReturnType<typeof judgeRanges>>
  >(inspection, (whole, before) => judgeRanges(inspection, ranges, { whole, before, resumed }));

  const totals = emptyCounts();
  for (const balance of balances)
    for (const key of Object.keys(totals) as (keyof BalanceCounts)[]) totals[key] += balance[key];
  totals.double += late.count;
  if (late.count > 0)
    notes.push(
      `records of an earlier audit have ${late.count} further terminal records: ${late.listed.join(', ')}`,
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
  if (totals.missing === 0 && !tooMany) {
    const sources = balances.map(({ partition, from, settledTo: next }) => {
      const { first = from } = resumed?.sources.get(partition) ?? {};
      return [partition, { first: Math.min(first, from), next }] as const;
    });
    await position?.write({ sources: new Map(sources), outputs: ends });
  }
  const all = [...new Set(journals.values())].sort((a, b) => a.shard - b.shard);
  return {
    verdict: totals.missing > 0 ? 'missing' : verdict,
    partitions: balances,
    totals,
    hold: newestOf(all).hold ?? null,
    shards: all.map(shardReport),
    outputOffsets: offsets,
    notes,
  };
}

function shardReport({ shard, state: { owner, jobs } }: ShardJournal): ShardReport {
  return {
    shard,
    owner: owner === undefined ? null : { instance: owner.instance, atMs: owner.atMs },
    jobs: [...jobs.values()]
      .map((job) => jobReport(shard, job))
      .sort((a, b) => a.createdMs - b.createdMs),
  };
}

/** Step 1 of the audit. */
async function rangesOf(
  { scan, pipeline: { topics } }: Inspection,
  sinceMs: number | undefined,
  position: AuditPosition | undefined,
): Promise<{ ranges: readonly SourceRange[]; resumed: AuditPosition | undefined }> {
  const bounds = await scan.bounds(topics.source);
  // A position beyond the end is from a topic that has since been deleted and created again.
  const isCurrent = (partition: number, next: number) => next <= (bounds.get(partition)?.end ?? 0);
  const resumed = position && {
    ...position,
    sources: new Map([...position.sources].filter(([of, { next }]) => isCurrent(of, next))),
  };
  const since =
    resumed === undefined && sinceMs !== undefined
      ? await scan.firstAt(topics.source, sinceMs)
      : undefined;
  const ranges = Array.from(bounds, ([partition, { start, stable }]): SourceRange => {
    const next = resumed?.sources.get(partition)?.next ?? start;
    const from = Math.max(since?.get(partition) ?? next, start);
    return { partition, from, to: Math.max(from, stable) };
  });
  return { ranges, resumed };
}

interface Reading {
  /** True to read the outputs from their beginning. */
  readonly whole: boolean;
  /** Position of an earlier audit. */
  readonly resumed?: AuditPosition | undefined;
  readonly before?: { readonly builders: readonly BalanceBuilder[] } | undefined;
  /**
   * Called with the journals, by source partition. Returns undefined if no terminal record is
   * expected, otherwise a callback for terminal records, which may end the reading of the outputs
   * with `enough`.
   */
  readonly observe?: (journals: ReadonlyMap<number, ShardJournal>) => OnTerminal | undefined;
}

/** Steps 2 to 5 of the audit. */
export async function judgeRanges(
  inspection: Inspection,
  ranges: readonly SourceRange[],
  { whole, resumed, before, observe }: Reading,
) {
  const { builders, journals } = await openBalances(inspection, ranges);
  const firstMs = await firstTimestamps(inspection, ranges);
  const known = firstMs.filter((ms) => ms !== undefined);
  const onTerminal = observe?.(journals);
  const isNeeded = observe ? onTerminal !== undefined : known.length > 0 || resumed !== undefined;
  // If a source record is gone, its timestamp is unknown, so its terminal record may be as old as the outputs.
  const isUndated = observe !== undefined && known.length < ranges.length;
  const byPartition = Map.groupBy(builders, ({ range }) => range.partition);
  const late = { count: 0, listed: [] as string[] };
  const read = isNeeded
    ? await readOutputs(
        inspection,
        whole || isUndated ? undefined : Math.min(...known, Number.MAX_SAFE_INTEGER),
        (terminal) => {
          const { kind, topic, partition, offset, replay, record } = terminal;
          for (const builder of byPartition.get(partition) ?? [])
            builder.addTerminal(kind, offset, replay);
          const { first = 0, next = 0 } = resumed?.sources.get(partition) ?? {};
          const readTo = resumed?.outputs.get(`${topic}-${record.partition}`) ?? 0;
          const wasSettled = replay === 0 && offset >= first && offset < next;
          if (wasSettled && record.offset >= readTo) {
            late.count++;
            if (late.listed.length < MAX_LISTED) late.listed.push(`${partition}:${offset}`);
          }
          return onTerminal?.(terminal);
        },
        resumed?.outputs,
      )
    : { offsets: 0, whole: true, gaps: NO_GAPS, ends: new Map<string, number>() };

  const balances: PartitionBalance[] = [];
  for (const [index, builder] of builders.entries()) {
    const suspects = before?.builders[index]?.missing;
    const evidence = {
      ...read.gaps,
      isSuspect: (offset: number) => before === undefined || suspects?.has(offset) === true,
    };
    balances.push(await balanceOf(inspection, builder, evidence));
  }
  const isIn = (account: 'missing' | 'unknown') => balances.some((one) => one[account] > 0);
  const doubt = isIn('missing') ? 'missing' : isIn('unknown') ? 'unknown' : undefined;
  return { ...read, journals, builders, firstMs, balances, late, doubt } as const;
}

/** Step 2. @returns a builder for each range, in the order of the ranges */
async function openBalances(inspection: Inspection, ranges: readonly SourceRange[]) {
  const shards = (await inspection.scan.bounds(inspection.pipeline.topics.journal)).size;
  const journals = new Map<number, ShardJournal>();
  const evidence = new Map<number, JournalEvidence>();
  const byPartition = Map.groupBy(ranges, ({ partition }) => partition);
  for (const [shard, own] of Map.groupBy(byPartition.keys(), (one) => one % shards)) {
    const journal = await readShardJournal(inspection, shard);
    const evidenceOf = await journalEvidence(inspection, journal, own);
    for (const partition of own) {
      journals.set(partition, journal);
      evidence.set(partition, evidenceOf(partition));
    }
  }
  const builders = ranges.map(
    (range) => new BalanceBuilder(range, evidence.get(range.partition) as JournalEvidence),
  );
  return { builders, journals };
}

/** @returns the timestamp of the first record of each range, or undefined if the range has no records */
async function firstTimestamps(inspection: Inspection, ranges: readonly SourceRange[]) {
  const found: (number | undefined)[] = [];
  for (const { partition, from, to } of ranges) {
    const range = { partition, from, until: to };
    found.push(await firstTimestamp(inspection, inspection.pipeline.topics.source, range));
  }
  return found;
}

/** Step 5 of the audit. */
async function balanceOf(
  { scan, pipeline, signal }: Inspection,
  builder: BalanceBuilder,
  evidence: Parameters<BalanceBuilder['take']>[1],
): Promise<PartitionBalance> {
  const { partition, from, to } = builder.range;
  const { isSkipped, topics } = pipeline;
  await scan.read(
    topics.source,
    { partition, from, until: to },
    ({ records, unreadable }) => {
      for (const record of records) {
        const { offset, timestampMs } = record;
        builder.take({ offset, timestampMs, isSkipped: () => isSkipped(record) }, evidence);
      }
      if (unreadable === undefined) return;
      // The number of unreadable records is unknown. Each offset counts as one, because each gets a
      // dead letter.
      const { timestampMs } = unreadable;
      const first = Math.max(unreadable.from, from);
      const end = Math.min(unreadable.to, to);
      for (let offset = first; offset < end; offset++)
        builder.take({ offset, timestampMs, isSkipped: () => false }, evidence);
    },
    signal,
  );
  const { start = 0 } = (await scan.bounds(topics.source)).get(partition) ?? {};
  return builder.finish(start);
}

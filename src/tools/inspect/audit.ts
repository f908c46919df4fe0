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
  /** First timestamp, ms; default: from the beginning. Ignored if there is an earlier position. */
  readonly sinceMs?: number | undefined;
  /** Makes the audit incremental. */
  readonly position?: PositionStore | undefined;
}

/** Position at which an audit ended. */
export interface AuditPosition {
  /** By source partition: the first audited offset, and the first that was not settled yet. */
  readonly sources: ReadonlyMap<number, { readonly first: number; readonly next: number }>;
  readonly outputs: OutputPositions;
}

export interface PositionStore {
  /** @returns undefined before the first audit */
  read(): Promise<AuditPosition | undefined>;
  write(position: AuditPosition): Promise<void>;
}

/** Maximum number of records of earlier audits that a note lists. */
const MAX_LISTED = 20;

export interface ShardReport {
  readonly shard: number;
  /** The last claim; null: never claimed. An idle owner renews `atMs` regularly. */
  readonly owner: { readonly instance: string; readonly atMs: number } | null;
  /** Live jobs, the oldest first. */
  readonly jobs: readonly JobReport[];
}

export interface AuditReport {
  /** The worst that was found; `double` also covers terminal records without a source record. */
  readonly verdict: 'balanced' | 'missing' | 'double' | 'unknown';
  readonly partitions: readonly PartitionBalance[];
  readonly totals: BalanceCounts;
  /** Command of an operator that is in force; null if there is none. */
  readonly hold: Hold | null;
  readonly shards: readonly ShardReport[];
  /** Number of output offsets read. */
  readonly outputOffsets: number;
  /** Reasons why some records could not be judged, and other remarks, a sentence each. */
  readonly notes: readonly string[];
}

/**
 * Audits a range, or the rest of the topic after an earlier position. New terminal records for
 * records before that position are double. Writes the new position unless records are missing or double.
 * @throws InspectError; what the store throws
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

/** Step 1. */
async function rangesOf(
  { scan, pipeline: { topics } }: Inspection,
  sinceMs: number | undefined,
  position: AuditPosition | undefined,
): Promise<{ ranges: readonly SourceRange[]; resumed: AuditPosition | undefined }> {
  const bounds = await scan.bounds(topics.source);
  // A position beyond the end belongs to a topic that was deleted and created again.
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
  /** Reads the outputs from their beginning. */
  readonly whole: boolean;
  /** Position of the earlier audit. */
  readonly resumed?: AuditPosition | undefined;
  readonly before?: { readonly builders: readonly BalanceBuilder[] } | undefined;
  /**
   * Called with the journals, by source partition. Returns a callback for terminal records (`enough`
   * ends the reading of the outputs), or undefined if none is expected.
   */
  readonly observe?: (journals: ReadonlyMap<number, ShardJournal>) => OnTerminal | undefined;
}

/** Steps 2 to 5. */
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
  // The terminal record of an observed record that is gone may be as old as the outputs.
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

/** Step 2. @returns one builder for each range, in the same order */
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

/** @returns timestamps of the first record of each range, undefined for a range without records */
async function firstTimestamps(inspection: Inspection, ranges: readonly SourceRange[]) {
  const found: (number | undefined)[] = [];
  for (const { partition, from, to } of ranges) {
    const range = { partition, from, until: to };
    found.push(await firstTimestamp(inspection, inspection.pipeline.topics.source, range));
  }
  return found;
}

/** Step 5. */
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
      // The number of records is not known: each offset has a dead letter, and counts as one.
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

/** Dead letters of a pipeline, as stored on their topic. */
import { replaysOf } from '../../core/outcome/dead-letter.ts';
import { placeOf, type SourceCoordinate } from '../../core/record.ts';
import type { Inspection } from './context.ts';
import { deadLetterCause, outputRanges, scanTerminals, type TerminalRecord } from './outputs.ts';
import { ReplayPositions } from './replay-positions.ts';

export interface DeadLetterFilter {
  /** Reasons to include. If empty, all. */
  readonly reasons: readonly string[];
  /** Earliest time of publication in ms. */
  readonly sinceMs?: number | undefined;
  /** Source records to include. If empty, all. */
  readonly sources: readonly SourceCoordinate[];
}

/** Dead letter. `partition` and `offset` are the coordinates of its source record. */
export interface DeadLetterEntry extends SourceCoordinate, ReturnType<typeof deadLetterCause> {
  readonly eventId: string;
  readonly publishedMs: number;
  /** Position on the dead-letter topic. */
  readonly at: SourceCoordinate;
  /** Number of earlier replays of its source record. */
  readonly replays: number;
  /** null if the dead letter has no value. */
  readonly valueBytes: number | null;
}

/** Returns a test for matching dead letters. */
export function matcherOf({
  reasons,
  sinceMs = -Infinity,
  sources,
}: DeadLetterFilter): (entry: DeadLetterEntry) => boolean {
  const wanted = new Set(sources.map(placeOf));
  return (entry) =>
    (reasons.length === 0 || reasons.includes(entry.reason)) &&
    entry.publishedMs >= sinceMs &&
    (wanted.size === 0 || wanted.has(placeOf(entry)));
}

/**
 * Reads the dead letters of each partition in log order.
 * @param sinceMs dead letters before this time may be left out; if undefined, all are read
 */
export async function scanDeadLetters(
  inspection: Inspection,
  sinceMs: number | undefined,
  onEntry: (entry: DeadLetterEntry, terminal: TerminalRecord) => undefined | Promise<undefined>,
): Promise<void> {
  const ranges = await outputRanges(inspection, sinceMs);
  await scanTerminals(
    inspection,
    ranges.filter(({ kind }) => kind === 'dead_letter'),
    (terminal) => {
      const { eventId, partition, offset, record } = terminal;
      return onEntry(
        {
          eventId,
          partition,
          offset,
          ...deadLetterCause(record),
          replays: replaysOf(record),
          valueBytes: record.value?.length ?? null,
          publishedMs: record.timestampMs,
          at: { partition: record.partition, offset: record.offset },
        },
        terminal,
      );
    },
  );
}

export interface DeadLetterList {
  /** Newest matching dead letters, in ascending order of time. */
  readonly deadLetters: readonly (DeadLetterEntry & { readonly replayed: boolean })[];
  readonly matching: number;
  readonly byReason: Readonly<Record<string, number>>;
}

/** @returns the newest `limit` matching dead letters, and the total number of matching ones */
export async function listDeadLetters(
  inspection: Inspection,
  filter: DeadLetterFilter,
  limit: number,
): Promise<DeadLetterList> {
  const positions = new ReplayPositions(inspection);
  await positions.read();
  const matches = matcherOf(filter);
  const byReason = new Map<string, number>();
  let newest: DeadLetterEntry[] = [];
  let matching = 0;
  const trim = () => {
    newest = newest
      .sort((a, b) => a.publishedMs - b.publishedMs || a.at.offset - b.at.offset)
      .slice(-limit);
  };
  await scanDeadLetters(inspection, filter.sinceMs, (entry) => {
    if (!matches(entry)) return undefined;
    matching++;
    byReason.set(entry.reason, (byReason.get(entry.reason) ?? 0) + 1);
    newest.push(entry);
    if (newest.length >= 2 * limit + 1_000) trim();
    return undefined;
  });
  trim();
  const deadLetters = newest.map((entry) => ({
    ...entry,
    replayed: entry.valueBytes !== null && positions.isReplayed(entry),
  }));
  return { deadLetters, matching, byReason: Object.fromEntries(byReason) };
}

/** Search for source records by key or expression over a bounded time, and their explanations. */
import { placeOf, type SourceCoordinate, type SourceRecord } from '../../../core/record.ts';
import { InspectError, type Inspection } from '../context.ts';
import {
  headerText,
  parseEventId,
  type ReadProgress,
  rangesBetween,
  readRanges,
} from '../outputs.ts';
import { explainRecord } from './explain.ts';
import type { Explanation } from './explanation.ts';

/** Conditions of a search: a record must meet all that are given. */
export interface RecordConditions {
  /** Records that are compared: the events of the source topic, or the published decisions. */
  readonly on: 'events' | 'decisions';
  readonly key?: string | undefined;
  /** Expression that must be true. */
  readonly where?: string | undefined;
}

export interface SearchRequest extends RecordConditions {
  /** First timestamp, ms. */
  readonly sinceMs: number;
  /** Timestamp at which the search ends, ms; default: the end of the topic. */
  readonly untilMs?: number | undefined;
  /** Number of matches that are explained: the newest. */
  readonly limit: number;
}

interface Selection {
  readonly matches: readonly SourceRecord[];
  /** Cause, for each record that could not be compared. */
  readonly failures: readonly string[];
}

/** Selects the records of a piece that meet the conditions. */
export type RecordSelector = (
  records: readonly SourceRecord[],
  signal: AbortSignal,
) => Promise<Selection>;

export interface SearchReport {
  readonly on: RecordConditions['on'];
  readonly topic: string;
  readonly sinceMs: number;
  readonly untilMs: number | null;
  /** Number of records compared. */
  readonly searched: number;
  readonly matching: number;
  /** Number of records that could not be compared: unreadable, or without a value of the expression. */
  readonly failed: number;
  /** Newest first. */
  readonly records: readonly Explanation[];
  readonly notes: readonly string[];
}

interface Match extends SourceCoordinate {
  readonly timestampMs: number;
}

/** Reads committed records only, up to the stable ends at the beginning. @throws InspectError */
export async function search(
  inspection: Inspection,
  request: SearchRequest,
  select: RecordSelector,
  progress: (state: ReadProgress & { readonly matching: number }) => void = () => {},
): Promise<SearchReport> {
  const { topics } = inspection.pipeline;
  const { on, sinceMs, untilMs, limit } = request;
  const topic = on === 'events' ? topics.source : topics.decisions;
  const ranges = await rangesBetween(inspection, topic, sinceMs, untilMs);
  const newest = new Map<string, Match>();
  const failures = new Map<string, number>();
  let searched = 0;
  let matching = 0;
  await readRanges(
    inspection,
    ranges,
    async ({ records, unreadable }) => {
      const found = await select(records, inspection.signal);
      searched += records.length;
      if (unreadable !== undefined) count(failures, unreadable.poison.message);
      for (const failure of found.failures) count(failures, failure);
      for (const record of found.matches) {
        const place = on === 'events' ? record : settledRecord(record, topics.source);
        if (place === undefined) continue;
        matching++;
        add(newest, { ...place, timestampMs: record.timestampMs });
        // At twice the limit: sorting costs little for each match.
        if (newest.size > 2 * limit) prune(newest, limit);
      }
    },
    (state) => progress({ ...state, matching }),
  );

  const explaining = withOneFailure(inspection);
  const records: Explanation[] = [];
  const unexplained: string[] = [];
  prune(newest, limit);
  for (const { partition, offset, timestampMs } of newest.values())
    try {
      const options = {
        thorough: false,
        // A decision is read from its own time on, even where its event is gone.
        ...(on === 'decisions' && { publishedMs: timestampMs }),
      };
      records.push(await explainRecord(explaining, { partition, offset }, options));
    } catch (error) {
      // Decisions outlive a source topic that is created again.
      if (!(error instanceof InspectError && error.failure === 'usage')) throw error;
      unexplained.push(`the record ${partition}:${offset} has no fate: ${error.message}`);
    }
  const failed = [...failures.values()].reduce((sum, times) => sum + times, 0);
  return {
    ...{ on, topic, sinceMs, untilMs: untilMs ?? null, searched },
    ...{ matching, failed, records },
    notes: [
      ...unexplained,
      ...[...failures].map(
        ([cause, times]) => `${times} of ${searched} records could not be compared: ${cause}`,
      ),
    ],
  };
}

/** A service that does not respond is called once, not for every match. */
function withOneFailure(inspection: Inspection): Inspection {
  let failed: { readonly error: unknown } | undefined;
  const once =
    <A, R>(call: (argument: A) => Promise<R>) =>
    async (argument: A): Promise<R> => {
      if (failed !== undefined) throw failed.error;
      try {
        return await call(argument);
      } catch (error) {
        failed = { error };
        throw error;
      }
    };
  const { remoteBatch, remoteDecision } = inspection;
  return {
    ...inspection,
    remoteBatch: remoteBatch && once(remoteBatch),
    remoteDecision: remoteDecision && once(remoteDecision),
  };
}

const byAge = (one: Match, other: Match) => other.timestampMs - one.timestampMs;

/** Adds a match; a source record is kept once, with its newest time. */
function add(matches: Map<string, Match>, { partition, offset, timestampMs }: Match): void {
  const place = placeOf({ partition, offset });
  const known = matches.get(place)?.timestampMs ?? -Infinity;
  matches.set(place, { partition, offset, timestampMs: Math.max(known, timestampMs) });
}

/** Keeps the newest matches, newest first. */
function prune(matches: Map<string, Match>, limit: number): void {
  const kept = [...matches].sort(([, one], [, other]) => byAge(one, other)).slice(0, limit);
  matches.clear();
  for (const [place, match] of kept) matches.set(place, match);
}

/** Causes that a report lists; an expression may fail differently for each record. */
const MAX_CAUSES = 5;

function count(failures: Map<string, number>, cause: string): void {
  const name = failures.has(cause) || failures.size < MAX_CAUSES ? cause : 'other causes';
  failures.set(name, (failures.get(name) ?? 0) + 1);
}

/** Source record of a decision; undefined for a record of another pipeline or application. */
function settledRecord(record: SourceRecord, source: string): SourceCoordinate | undefined {
  return parseEventId(headerText(record, 'eventId'), source);
}

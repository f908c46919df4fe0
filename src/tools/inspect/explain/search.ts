/** Search for source records by their key over a bounded time, and their explanations. */
import type { SourceCoordinate } from '../../../core/record.ts';
import type { Inspection } from '../context.ts';
import { type ReadProgress, rangesBetween, readRanges } from '../outputs.ts';
import { explainRecord } from './explain.ts';
import type { Explanation } from './explanation.ts';

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

/** Checks a quota of rows per minute by the uploads that the service received. */

/** A batch of the service. `uploaded` is an ISO time, or null. */
interface Uploaded {
  readonly uploaded: string | null;
  readonly rows: number;
}

interface Quota {
  /** Rows per minute. */
  readonly quota: number;
  readonly shards: number;
  /** Wall clock time until which there was work, ms. */
  readonly hadWorkMs: number;
}

const MINUTE_MS = 60_000;
/** Minimum share of the quota that must be used while there is work. */
const USED = 0.95;

/** Returns complaints, and a line of figures. */
export function judgeQuota(batches: readonly Uploaded[], { quota, shards, hadWorkMs }: Quota) {
  const uploads = batches
    .flatMap(({ uploaded, rows }) =>
      uploaded === null ? [] : [{ atMs: Date.parse(uploaded), rows }],
    )
    .sort((one, other) => one.atMs - other.atMs);
  const rowsIn = (fromMs: number, toMs: number) =>
    uploads.reduce((sum, { atMs, rows }) => sum + (atMs >= fromMs && atMs < toMs ? rows : 0), 0);
  const largest = Math.max(0, ...uploads.map(({ rows }) => rows));
  const most = Math.max(0, ...uploads.map(({ atMs }) => rowsIn(atMs, atMs + MINUTE_MS)));
  const limit = quota + shards * largest;
  // Skips the first minute, which starts with an empty quota and few records.
  const startMs = (uploads[0]?.atMs ?? hadWorkMs) + MINUTE_MS;
  const minutes = Math.floor((hadWorkMs - startMs) / MINUTE_MS);
  const used = Array.from({ length: Math.max(0, minutes) }, (_, minute) =>
    rowsIn(startMs + minute * MINUTE_MS, startMs + (minute + 1) * MINUTE_MS),
  );
  const part = used.reduce((sum, rows) => sum + rows, 0) / (used.length * quota);
  const percent = (of: number) => `${(100 * of).toFixed(1)} %`;
  return {
    complaints: [
      ...(most > limit ? [`a minute had ${most} rows, more than ${limit}`] : []),
      ...(part < USED ? [`only ${percent(part)} of the quota was used while there was work`] : []),
    ],
    figures: `quota     at most ${most} rows in any minute (limit ${quota} and ${shards} batches of ${largest}); ${
      used.length === 0
        ? 'no whole minute with work'
        : `${percent(part)} used over ${used.length} minutes with work, at least ${percent(Math.min(...used) / quota)} in each`
    }`,
  };
}

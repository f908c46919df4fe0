/**
 * Quota of one shard: rows that it may submit per minute and per day, and rows under review. The
 * submitted rows are part of the shard's journal, so that the count continues after a restart or
 * takeover. Rows under review are the rows of the shard's live jobs. Callers pass in the time.
 *
 * A minute is any interval of 60 s; submissions are kept by second. A day is a day in UTC.
 */

/** Numbers of rows for one shard. Infinity where there is no limit. */
export interface QuotaLimits {
  readonly rowsPerMinute: number;
  readonly rowsPerDay: number;
  readonly rowsUnderReview: number;
}

/** A lane's rows under review, and its share of the limit, from 0 to 1. */
interface UnderReview {
  readonly rows: number;
  readonly share: number;
}

/** Numbers of rows that a shard has submitted, in the form that the journal stores. */
export interface QuotaRecord {
  /** Rows by second since the epoch, ascending. */
  readonly seconds: readonly (readonly [second: number, rows: number])[];
  /** Day since the epoch, and its rows. */
  readonly day: readonly [day: number, rows: number];
}

/**
 * Maximum size of a batch as a fraction of a limit: BATCH_PART of the rows per minute and per day,
 * REVIEW_PART of the rows under review. BATCH_PART is small, because rows left in a minute
 * or a day are lost if they are too few for the next batch.
 */
const BATCH_PART = 1 / 20;
const REVIEW_PART = 1 / 4;
/** Maximum age of the last submission, in seconds, for which the clocks of both owners are trusted. */
const LONGEST_TAKEOVER_S = 90;
const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

export class Quota {
  limits: QuotaLimits;
  #seconds: readonly (readonly [second: number, rows: number])[];
  #day: readonly [day: number, rows: number];

  /**
   * @param nowMs wall clock
   * @param spent record of an earlier owner. If its last submission is in the future, or longer ago
   * than a takeover takes, the clocks may differ. The last submission then counts as made now, and
   * earlier ones keep their distance from it
   */
  constructor(limits: QuotaLimits, nowMs: number, spent?: QuotaRecord) {
    this.limits = limits;
    const second = Math.floor(nowMs / SECOND_MS);
    const { seconds = [], day = [0, 0] } = spent ?? {};
    const age = second - (seconds.at(-1)?.[0] ?? second);
    const isPlausible = age >= 0 && age <= LONGEST_TAKEOVER_S;
    this.#seconds = isPlausible ? seconds : seconds.map(([at, rows]) => [at + age, rows]);
    this.#day = [Math.min(day[0], Math.floor(nowMs / DAY_MS)), day[1]];
  }

  /**
   * Maximum rows of a batch. Larger batches would leave more of the quota unused. @param share
   * smallest share of a lane
   */
  maxRows(share: number): number {
    const { rowsPerMinute, rowsPerDay, rowsUnderReview } = this.limits;
    const rows = BATCH_PART * Math.min(rowsPerMinute, rowsPerDay);
    return Math.max(1, Math.floor(Math.min(rows, REVIEW_PART * rowsUnderReview * share)));
  }

  /**
   * Returns the time in ms until a batch may be submitted. 0 if it may be submitted now, Infinity
   * if reviews must end first. A batch that exceeds a limit is admitted if no other rows count
   * towards that limit.
   * @param review undefined for records that are under review already
   */
  waitMs(rows: number, nowMs: number, review?: UnderReview): number {
    const { rowsUnderReview } = this.limits;
    if (review && !fits(rows, review.rows, rowsUnderReview * review.share)) return Infinity;
    const dayMs = fits(rows, this.#rowsOfDay(nowMs), this.limits.rowsPerDay)
      ? 0
      : Math.ceil(dayEndsInMs(nowMs));
    return Math.max(dayMs, this.#minuteWaitMs(rows, nowMs));
  }

  /** Counts a batch that is submitted now. @returns the record for the journal */
  spend(rows: number, nowMs: number): QuotaRecord {
    const second = Math.floor(nowMs / SECOND_MS);
    const kept = this.#inMinute(nowMs);
    const last = kept.at(-1);
    this.#seconds =
      last?.[0] === second
        ? [...kept.slice(0, -1), [second, last[1] + rows]]
        : [...kept, [second, rows]];
    this.#day = [Math.floor(nowMs / DAY_MS), this.#rowsOfDay(nowMs) + rows];
    return { seconds: this.#seconds, day: this.#day };
  }

  /**
   * Takes back the rows of an upload that cannot have arrived.
   * @param spentMs time at which they were counted
   */
  takeBack(rows: number, spentMs: number): void {
    const second = Math.floor(spentMs / SECOND_MS);
    this.#seconds = this.#seconds.map(([at, count]) => [at, at === second ? count - rows : count]);
    const [day, count] = this.#day;
    if (day === Math.floor(spentMs / DAY_MS)) this.#day = [day, count - rows];
  }

  /** Numbers of rows that may still be submitted. Infinity where there is no limit. */
  left(nowMs: number, underReview: number): QuotaLimits {
    const { rowsPerMinute, rowsPerDay, rowsUnderReview } = this.limits;
    const rest = (limit: number, used: number) => Math.max(0, limit - used);
    return {
      rowsPerMinute: rest(rowsPerMinute, sumOf(this.#inMinute(nowMs))),
      rowsPerDay: rest(rowsPerDay, this.#rowsOfDay(nowMs)),
      rowsUnderReview: rest(rowsUnderReview, underReview),
    };
  }

  /** Times in ms until more rows are free, by limit. Infinity if none are used, or if reviews must end first. */
  renewsMs(nowMs: number): QuotaLimits {
    const [oldest] = this.#inMinute(nowMs);
    return {
      rowsPerMinute: oldest === undefined ? Infinity : endMs(oldest[0]) - nowMs,
      rowsPerDay: this.#rowsOfDay(nowMs) === 0 ? Infinity : dayEndsInMs(nowMs),
      rowsUnderReview: Infinity,
    };
  }

  #rowsOfDay(nowMs: number): number {
    const [day, rows] = this.#day;
    return day === Math.floor(nowMs / DAY_MS) ? rows : 0;
  }

  #minuteWaitMs(rows: number, nowMs: number): number {
    let waitMs = 0;
    const waiting = [...this.#inMinute(nowMs)];
    while (!fits(rows, sumOf(waiting), this.limits.rowsPerMinute)) {
      const [second] = waiting.shift() as readonly [number, number];
      // A timer may fire a fraction too early.
      waitMs = Math.ceil(endMs(second) - nowMs);
    }
    return waitMs;
  }

  #inMinute(nowMs: number) {
    return this.#seconds.filter(([second]) => endMs(second) > nowMs);
  }
}

/** Time in ms at which the rows submitted in a second no longer count. */
const endMs = (second: number): number => (second + 1) * SECOND_MS + MINUTE_MS;

const dayEndsInMs = (nowMs: number): number => (Math.floor(nowMs / DAY_MS) + 1) * DAY_MS - nowMs;

const fits = (rows: number, used: number, limit: number): boolean =>
  used === 0 || used + rows <= limit;

const sumOf = (seconds: readonly (readonly [number, number])[]): number =>
  seconds.reduce((sum, [, rows]) => sum + rows, 0);

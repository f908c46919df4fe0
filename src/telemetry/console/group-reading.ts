/**
 * Reading of the journal for the console: the shards of all instances of the group. In the
 * background, one pipeline at a time, and seldom; a request gets the last one with its age.
 */

/** Both keep a report below 160 kB; with a partition for each shard it takes about 60. */
export const MAX_SHARDS = 256;
/** Partitions whose W is shown, of each shard. */
export const MAX_PARTITIONS = 8;
/** Least time between the ends of a reading and of the next. */
const INTERVAL_MS = 30_000;
/** Part of the time that readings may take, as its inverse: long journals are read less often. */
const TIMES_AS_LONG = 10;
const LIMIT_MS = 20_000;
/** Characters of texts that may come from the journal. */
const MAX_INSTANCE = 64;
const MAX_PROBLEM = 600;

export interface GroupReport {
  /** State of the group in Kafka's words. */
  readonly state: string;
  readonly members: number;
  readonly shardCount: number;
  readonly shards: readonly GroupShard[];
}

interface GroupShard {
  readonly shard: number;
  /** Instance that claimed it last; null: none has. */
  readonly instance: string | null;
  /** Time of that claim, or of its last confirmation. */
  readonly seenMs: number | null;
  /** Time of the newest record in its journal. */
  readonly writtenMs: number | null;
  readonly jobs: number;
  /** Records in live jobs. */
  readonly records: number;
  /** Records that are in no job yet. */
  readonly lag: number;
  readonly partitions: number;
  readonly watermarks: readonly { readonly partition: number; readonly watermark: number | null }[];
}

/** Reads the journal apart from the pipelines. @throws Error with a reason for operators; the signal's */
export type ReadGroup = (pipeline: string, signal: AbortSignal) => Promise<GroupReport>;

interface Reading {
  report: GroupReport | null;
  /** Time of the report; null: none yet. */
  atMs: number | null;
  tookMs: number;
  /** Reason why the last reading failed. */
  problem: string | null;
  notBeforeMs: number;
}

export class GroupReadings {
  readonly #read: ReadGroup;
  readonly #now: () => number;
  readonly #limitMs: number;
  /** By pipeline, in the order of the configuration. */
  readonly #readings: ReadonlyMap<string, Reading>;
  readonly #closed = new AbortController();
  #isBusy = false;

  /** @param now wall clock, ms */
  constructor(
    pipelines: readonly string[],
    read: ReadGroup,
    now: () => number,
    limitMs = LIMIT_MS,
  ) {
    this.#readings = new Map(
      pipelines.map((name) => [
        name,
        { report: null, atMs: null, tookMs: 0, problem: null, notBeforeMs: 0 },
      ]),
    );
    this.#read = read;
    this.#now = now;
    this.#limitMs = limitMs;
  }

  /**
   * Returns the last reading at once, and begins another when that is old enough.
   * @param name of a pipeline; an unknown one stands for the first
   */
  view(name?: string) {
    const known = [...this.#readings];
    const [pipeline, reading] =
      known.find(([one]) => one === name) ?? (known[0] as (typeof known)[number]);
    const isDue = this.#now() >= reading.notBeforeMs;
    if (isDue && !this.#isBusy && !this.#closed.signal.aborted) void this.#begin(pipeline, reading);
    const { report, atMs, tookMs, problem } = reading;
    return { atMs, tookMs, problem, report };
  }

  /** Ends a reading that is under way. */
  close(): void {
    this.#closed.abort(new Error('the console is closed'));
  }

  /** Never rejects. */
  async #begin(pipeline: string, reading: Reading): Promise<void> {
    this.#isBusy = true;
    const startedMs = this.#now();
    const late = AbortSignal.timeout(this.#limitMs);
    try {
      const signal = AbortSignal.any([late, this.#closed.signal]);
      reading.report = bounded(await this.#read(pipeline, signal));
      reading.atMs = this.#now();
      reading.problem = null;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      reading.problem = late.aborted
        ? `not read within ${this.#limitMs / 1_000} s`
        : reason.slice(0, MAX_PROBLEM);
    }
    const endedMs = this.#now();
    reading.tookMs = endedMs - startedMs;
    reading.notBeforeMs = endedMs + Math.max(INTERVAL_MS, TIMES_AS_LONG * reading.tookMs);
    this.#isBusy = false;
  }
}

const bounded = ({ shards, ...rest }: GroupReport): GroupReport => ({
  ...rest,
  shards: shards.map((one) => ({
    ...one,
    instance: one.instance?.slice(0, MAX_INSTANCE) ?? null,
  })),
});

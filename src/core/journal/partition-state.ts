/**
 * An owner's view of one source partition: the watermark W, the offsets assigned above it, and the
 * position of intake.
 *
 * An offset is assigned when it is settled, in a live job or skipped, or contains no record at all
 * (transaction markers, compaction). Every offset in [W, position) is assigned, waits in memory (a
 * buffer, a sealed batch, the dead-letter queue), or is in a range that intake leaped over and will
 * read later. So W is the first unassigned offset.
 */
import { OffsetSet } from '../offset-set.ts';
import type { PartitionProgress } from './journal-records.ts';

type StartProgress = Omit<PartitionProgress, 'seq'>;

/** Offsets that intake has not read yet, from `position` up to `end`, exclusive. */
export interface UnreadRange {
  position: number;
  end: number;
}

export class PartitionState {
  readonly partition: number;
  readonly replay: number;
  /** Unread ranges, ascending. The last one is open-ended. Intake leaped over the others. */
  #unread: readonly UnreadRange[];
  /** Start of the newest range after the last leap. */
  #leapedTo = 0;
  /** Number of records that intake has taken and that are not assigned yet. */
  taken = 0;
  /** Number of taken records that intake has deferred, and that are read again later. */
  deferred = 0;
  /** Size of the last progress record in bytes. */
  progressBytes = 0;
  /**
   * Records below this offset were already in a buffer of the previous owner, so their age counts
   * from their timestamp.
   */
  readonly seenBefore: number;
  #watermark: number;
  readonly #assigned: OffsetSet;
  #last: PartitionProgress['last'];
  /**
   * Record that must still be at its offset. Set until intake has passed that offset. A different
   * timestamp there shows that the topic was created again.
   */
  #expected: PartitionProgress['last'];
  /** Newest record that intake has read. The offset is -1 before the first record. */
  #seenOffset = -1;
  #seenTimestampMs = 0;
  /** Progress at the start of this ownership. */
  readonly #journaled: StartProgress;
  #dirty = false;
  /** Value of `read` in the newest progress record. */
  #writtenRead: number;

  private constructor(partition: number, progress: StartProgress) {
    this.partition = partition;
    this.replay = progress.replay;
    this.#watermark = progress.watermark;
    this.#assigned = progress.claimed;
    this.#last = progress.last;
    this.#expected = progress.last;
    this.seenBefore = progress.read;
    this.#writtenRead = progress.read;
    this.#journaled = progress;
    this.#unread = [{ position: progress.watermark, end: Infinity }];
  }

  /** Resumes from the journal. The caller must not use `progress.claimed` afterwards. */
  static resume(partition: number, progress: PartitionProgress): PartitionState {
    return new PartitionState(partition, progress);
  }

  /** Starts with progress that the next commit must write to the journal, after a first start or a reset. */
  static begin(partition: number, progress: StartProgress): PartitionState {
    const state = new PartitionState(partition, progress);
    state.#dirty = true;
    return state;
  }

  /** Starts a partition that the journal does not contain yet. @param inherited see PartitionProgress */
  static startAt(partition: number, offset: number, { inherited = false } = {}): PartitionState {
    return PartitionState.begin(partition, {
      watermark: offset,
      claimed: new OffsetSet(),
      replay: 0,
      read: offset,
      last: null,
      start: offset,
      ...(inherited && { inherited }),
    });
  }

  get watermark(): number {
    return this.#watermark;
  }

  /** Range of the newest records. */
  get newest(): UnreadRange {
    return this.#unread.at(-1) as UnreadRange;
  }

  /** Next offset that intake reads in the newest range. */
  get position(): number {
    return this.newest.position;
  }

  /** Number of offsets above W that intake has read, except offsets that are to be read again. */
  get width(): number {
    return (this.#hasBacklog ? this.taken : this.position - this.#watermark) - this.deferred;
  }

  /**
   * Size in bytes of the progress record if there is a backlog, otherwise 0. The record is large if
   * many assigned offsets are scattered above the backlog.
   */
  get scatteredBytes(): number {
    return this.#hasBacklog ? this.progressBytes : 0;
  }

  get #hasBacklog(): boolean {
    return this.deferred > 0 || this.#unread.length > 1;
  }

  /** Number of offsets that intake has leaped over and not read yet. */
  get unread(): number {
    return this.#leapedOver.reduce((sum, { position, end }) => sum + end - position, 0);
  }

  /** True if every offset that intake has read is assigned. */
  get isAtRest(): boolean {
    const pending = this.#leapedOver.reduce(
      (sum, { position, end }) => sum - this.unassignedIn(position, end),
      this.unassignedIn(this.#watermark, this.position),
    );
    return pending === 0;
  }

  /**
   * Leaps over the offsets [from, to) of the newest range, which are read later. `to` must be above
   * the range's position. @returns the range that was leaped over
   */
  leap(from: number, to: number): UnreadRange {
    const later = { position: Math.max(from, this.position), end: to };
    this.newest.end = later.position;
    this.#leapedTo = to;
    const unread = [...this.#unread, later, { position: to, end: Infinity }];
    this.#unread = unread.filter(({ position, end }) => position < end);
    return later;
  }

  /** Moves the start of a range to `to`, or to its end if that is lower. */
  advance(range: UnreadRange, to: number): void {
    range.position = Math.max(range.position, Math.min(to, range.end));
    if (range.position === range.end) this.#unread = this.#unread.filter((one) => one !== range);
  }

  /** True if the next progress record differs from the last. */
  get dirty(): boolean {
    return this.#dirty;
  }

  /** True if intake has read on since the last progress record. */
  get readOn(): boolean {
    return this.#readTo > this.#writtenRead;
  }

  isAssigned(offset: number): boolean {
    return offset < this.#watermark || this.#assigned.has(offset);
  }

  /** True if an offset in [from, to) is assigned. */
  isAnyAssigned(from: number, to: number): boolean {
    return from < this.#watermark || (this.#assigned.firstFrom(from) ?? to) < to;
  }

  /** Counts the unassigned offsets in [from, to). */
  unassignedIn(from: number, to: number): number {
    let unassigned = 0;
    for (const [low, high] of this.#assigned.gaps(Math.max(from, this.#watermark), to))
      unassigned += high - low;
    return unassigned;
  }

  /**
   * Moves the position back to the last assigned record if it is a little below W, so that intake
   * can check whether it is still the same record. @param logStart first offset in the log
   */
  seekToLastAssigned(logStart: number): void {
    const last = this.#expected;
    if (
      last !== null &&
      last.offset >= logStart &&
      last.offset < this.position &&
      this.position - last.offset <= MAX_PEEK
    )
      this.newest.position = last.offset;
  }

  /**
   * Makes intake check the newest record again, because the topic may have been created again.
   * @returns the record's offset, from which to resume reading, or undefined if nothing was read there
   */
  expectAgain(): number | undefined {
    if (this.#seenOffset < this.#leapedTo) return undefined;
    this.#expected = { offset: this.#seenOffset, timestampMs: this.#seenTimestampMs };
    return this.#seenOffset;
  }

  /** Returns false if intake has read a different record at this offset: the topic was created again. */
  matches(offset: number, timestampMs: number): boolean {
    if (offset > this.#seenOffset) {
      this.#seenOffset = offset;
      this.#seenTimestampMs = timestampMs;
    }
    if (this.#expected === null || offset !== this.#expected.offset) return true;
    const same = this.#expected.timestampMs === timestampMs;
    if (same) this.#expected = null;
    return same;
  }

  /** Assigns the offsets [from, to), at which intake found no records. */
  passGap(from: number, to: number): void {
    const low = Math.max(from, this.#watermark);
    if (to <= low) return;
    if (low === this.#watermark) {
      // Every offset below is assigned, so W can move at once. A gap of millions therefore costs nothing.
      this.#watermark = to;
      this.#settleWatermark();
    } else {
      this.#assigned.addRange(low, to);
    }
    this.#dirty = true;
  }

  /** Assigns the offsets [from, to) of taken records; see `assign`. */
  assignRange(from: number, to: number): void {
    const low = Math.max(from, this.#watermark);
    if (low < to) {
      this.#assigned.addRange(low, to);
      this.taken -= to - low;
    }
    this.#dirty = true;
  }

  /**
   * Assigns the offset of a record that the transaction being built settles or adds to a job, or
   * that was skipped. A skipped offset reaches the journal with the next transaction.
   * @param timestampMs undefined if unknown
   */
  assign(offset: number, timestampMs: number | undefined): void {
    if (offset < this.#watermark) return;
    this.#assigned.add(offset);
    if (timestampMs !== undefined && (this.#last === null || offset > this.#last.offset))
      this.#last = { offset, timestampMs };
    this.#dirty = true;
  }

  /** Moves W past all assigned offsets. The caller must commit the result or discard this state. */
  snapshot(seq: number): PartitionProgress {
    this.#settleWatermark();
    this.#dirty = false;
    this.#writtenRead = Math.max(this.#readTo, this.#watermark);
    return {
      ...this.#journaled,
      seq,
      watermark: this.#watermark,
      claimed: this.#assigned.clone(),
      read: this.#writtenRead,
      last: this.#last,
    };
  }

  /** First offset that intake has not read. */
  get #readTo(): number {
    return (this.#unread[0] as UnreadRange).position;
  }

  get #leapedOver(): readonly UnreadRange[] {
    return this.#unread.slice(0, -1);
  }

  #settleWatermark(): void {
    this.#watermark = this.#assigned.firstMissing(this.#watermark);
    this.#assigned.dropBelow(this.#watermark);
  }
}

/** Maximum number of offsets to read again in order to check one record. */
const MAX_PEEK = 10_000;

/**
 * Returns the progress after an operator has reset the group to `offset` (`keeps-live-jobs` in the
 * protocol's model). Everything below is skipped; everything above is reviewed again, except
 * records of live jobs.
 * @returns the new progress, and the maximum number of records skipped unread (gaps count too)
 */
export function resetProgress(
  previous: PartitionProgress,
  offset: number,
  live: OffsetSet,
): { progress: StartProgress; skipped: number } {
  const claimed = new OffsetSet();
  for (const one of live) if (one >= offset) claimed.add(one);
  let skipped = 0;
  for (const [from, to] of previous.claimed.gaps(previous.watermark, offset)) skipped += to - from;
  return {
    progress: {
      ...previous,
      watermark: claimed.firstMissing(offset),
      claimed,
      replay: previous.replay + 1,
      read: offset,
      last: null,
      start: Math.min(previous.start, offset),
    },
    skipped,
  };
}

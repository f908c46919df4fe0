/**
 * What an owner knows of one source partition: the watermark W, what is claimed above it, and how far intake has read.
 *
 * Every offset in [W, position) is either claimed or waiting in memory (a buffer, a sealed batch, the dead-letter queue),
 * so W is simply the first offset that is not claimed. Offsets that hold no record (transaction markers, compaction) are
 * claimed as they are passed.
 */

import { OffsetSet } from '../offsets/offset-set.ts';
import type { PartitionProgress } from './journal-records.ts';

export class PartitionState {
  readonly partition: number;
  readonly replay: number;
  /** Where intake reads next. */
  position: number;
  /** Records below this were already waiting in a buffer when the previous owner went: their age counts from their timestamp. */
  readonly seenBefore: number;
  #watermark: number;
  readonly #claimed: OffsetSet;
  #last: PartitionProgress['last'];
  /** What to expect at `last.offset`, until intake has passed it (a topic made anew shows another timestamp). */
  #expected: PartitionProgress['last'];
  /** The newest record that intake has looked at: offset -1 before the first. */
  #seenOffset = -1;
  #seenTimestampMs = 0;
  readonly #start: Pick<PartitionProgress, 'start' | 'inherited'>;
  #dirty = false;
  /** `read` as the journal has it. */
  #writtenRead: number;

  private constructor(partition: number, progress: Omit<PartitionProgress, 'seq'>) {
    this.partition = partition;
    this.replay = progress.replay;
    this.#watermark = progress.watermark;
    this.#claimed = progress.claimed;
    this.#last = progress.last;
    this.#expected = progress.last;
    this.seenBefore = progress.read;
    this.#writtenRead = progress.read;
    this.#start = startOf(progress);
    this.position = progress.watermark;
  }

  /** Goes on from what the journal says. Takes over `progress.claimed`. */
  static resume(partition: number, progress: PartitionProgress): PartitionState {
    return new PartitionState(partition, progress);
  }

  /** Progress that the journal does not have yet (a first start, a reset): written with the next commit. */
  static begin(partition: number, progress: Omit<PartitionProgress, 'seq'>): PartitionState {
    const state = new PartitionState(partition, progress);
    state.#dirty = true;
    return state;
  }

  /** A partition that the journal does not know yet. @param inherited the offset is one that the group had before */
  static startAt(partition: number, offset: number, { inherited = false } = {}): PartitionState {
    const nothing = { claimed: new OffsetSet(), replay: 0, last: null };
    const start = inherited ? ({ start: offset, inherited } as const) : { start: offset };
    return PartitionState.begin(partition, {
      watermark: offset,
      read: offset,
      ...start,
      ...nothing,
    });
  }

  get watermark(): number {
    return this.#watermark;
  }

  /** Distance from W to the newest offset read: the width of the claimed set. */
  get span(): number {
    return this.position - this.#watermark;
  }

  /** Whether the next progress record would say something new. */
  get dirty(): boolean {
    return this.#dirty;
  }

  /** Whether intake has read on since the journal was told how far. */
  get readOn(): boolean {
    return this.position > this.#writtenRead;
  }

  get lastClaimed(): PartitionProgress['last'] {
    return this.#last;
  }

  isClaimed(offset: number): boolean {
    return offset < this.#watermark || this.#claimed.has(offset);
  }

  /** How many offsets in [from, to) are not claimed. */
  unclaimedIn(from: number, to: number): number {
    let unclaimed = 0;
    for (const [low, high] of this.#claimed.gaps(Math.max(from, this.#watermark), to))
      unclaimed += high - low;
    return unclaimed;
  }

  /**
   * Starts reading at the last claimed record when it is close below W, so that intake can see whether it is still the same.
   * `logStart`: first offset in the log.
   */
  rewindToLastClaimed(logStart: number): void {
    const last = this.#expected;
    if (
      last !== null &&
      last.offset >= logStart &&
      last.offset < this.position &&
      this.position - last.offset <= MAX_PEEK
    )
      this.position = last.offset;
  }

  /**
   * Expects the newest record that was read once more, because the topic may have been created again meanwhile.
   * @returns its offset, where reading must go on; undefined when nothing was read
   */
  expectAgain(): number | undefined {
    if (this.#seenOffset < 0) return undefined;
    this.#expected = { offset: this.#seenOffset, timestampMs: this.#seenTimestampMs };
    return this.#seenOffset;
  }

  /** False when the record is not the one that was read or claimed at its offset before: the topic was created again. */
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

  /** Intake passed [from, to) and found no record there. */
  passGap(from: number, to: number): void {
    const low = Math.max(from, this.#watermark);
    if (to <= low) return;
    if (low === this.#watermark) {
      // Nothing waits below: W moves at once, and a gap of millions costs nothing.
      this.#watermark = to;
      this.#settleWatermark();
    } else {
      this.#claimed.addRange(low, to);
    }
    this.#dirty = true;
  }

  /**
   * The record is settled, in a job, or skipped: part of the transaction being built (or, for a skip, of the next).
   * @param timestampMs undefined: not known, so that the record cannot be recognised by it
   */
  claim(offset: number, timestampMs: number | undefined): void {
    if (offset < this.#watermark) return;
    this.#claimed.add(offset);
    if (timestampMs !== undefined && (this.#last === null || offset > this.#last.offset))
      this.#last = { offset, timestampMs };
    this.#dirty = true;
  }

  /** Moves W over everything claimed, and returns what to write. The caller commits it or throws this state away. */
  snapshot(seq: number): PartitionProgress {
    this.#settleWatermark();
    this.#dirty = false;
    this.#writtenRead = Math.max(this.position, this.#watermark);
    return {
      seq,
      watermark: this.#watermark,
      claimed: this.#claimed.clone(),
      replay: this.replay,
      read: this.#writtenRead,
      last: this.#last,
      ...this.#start,
    };
  }

  #settleWatermark(): void {
    this.#watermark = this.#claimed.firstMissing(this.#watermark);
    this.#claimed.dropBelow(this.#watermark);
  }
}

/** Reading this many offsets again, only to look at one record, is cheap. */
const MAX_PEEK = 10_000;

/**
 * Progress after an operator reset the group to `offset` (as `keeps-live-jobs` in the protocol's model): everything below
 * is skipped, everything from there on is reviewed again, except what live jobs still name. The pipeline answers for what is
 * reviewed again, and for what it answered for before.
 * @returns the new progress and how many records were skipped unread (at most: gaps count too).
 */
export function resetProgress(
  previous: PartitionProgress,
  offset: number,
  live: OffsetSet,
): { progress: Omit<PartitionProgress, 'seq'>; skipped: number } {
  const claimed = new OffsetSet();
  for (const one of live) if (one >= offset) claimed.add(one);
  let skipped = 0;
  for (const [from, to] of previous.claimed.gaps(previous.watermark, offset)) skipped += to - from;
  const start = startOf(previous);
  if (start.start !== undefined) start.start = Math.min(start.start, offset);
  return {
    progress: {
      watermark: claimed.firstMissing(offset),
      claimed,
      replay: previous.replay + 1,
      read: offset,
      last: null,
      ...start,
    },
    skipped,
  };
}

/** Where the pipeline's answer for the partition begins, as far as the journal says. */
function startOf({ start, inherited }: Omit<PartitionProgress, 'seq'>): {
  start?: number;
  inherited?: true;
} {
  return {
    ...(start === undefined ? {} : { start }),
    ...(inherited === undefined ? {} : { inherited }),
  };
}

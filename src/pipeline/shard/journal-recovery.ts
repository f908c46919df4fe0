/**
 * Recovery of a shard's state: reads its journal through the group, from the beginning to the
 * barrier.
 */

import type { Clock } from '../../base/clock.ts';
import { JournalFormatError, type JournalMeta } from '../../core/journal/journal-records.ts';
import { type JournalState, JournalView } from '../../core/journal/journal-view.ts';
import type { FetchedBatch, RecordPiece, ShardGroup } from '../../core/ports/kafka.ts';
import { ShardLostError } from '../context/errors.ts';

/** Fetched bytes that were not folded yet, beyond which the journal pauses. */
const MAX_INBOX_BYTES = 1024 * 1024;

/** Longest time without progress: the position is lost then, and a new claim is the remedy. */
const STALL_MS = 60_000;

/** Admission of large records: those of a journal are small. */
const NO_WAIT = () => Promise.resolve(() => {});

export class JournalRecovery {
  readonly #group: ShardGroup;
  readonly #clock: Clock;
  readonly #topic: string;
  readonly #shard: number;
  readonly #view = new JournalView();
  /** Position up to which the journal was folded; undefined while nothing is read. */
  #position: number | undefined;
  /** Start of the next fetched batch: the position plus the inbox. */
  #expected = 0;
  readonly #inbox: FetchedBatch[] = [];
  #inboxBytes = 0;
  #folding = false;
  /** Offset of the owner record of this claim. */
  #barrier: number | undefined;
  #failure: unknown;
  #wake: (() => void) | undefined;

  constructor({
    group,
    clock,
    topic,
    shard,
  }: { group: ShardGroup; clock: Clock; topic: string; shard: number }) {
    this.#group = group;
    this.#clock = clock;
    this.#topic = topic;
    this.#shard = shard;
  }

  /** Starts to read at the journal's first offset. */
  start(from: number): void {
    this.#position = from;
    this.#expected = from;
    this.#read();
  }

  /** Resumes in a new generation, in which the partition is paused and has no position. */
  rejoined(): void {
    if (this.#position !== undefined) this.#read();
  }

  #read(): void {
    this.#group.seek('journal', this.#shard, this.#expected);
    this.#group.resume('journal', this.#shard);
  }

  stop(): void {
    this.#position = undefined;
    this.#group.pause('journal', this.#shard);
  }

  fetched(batch: FetchedBatch): void {
    if (this.#position === undefined || this.#failure !== undefined) return;
    if (batch.fetchOffset !== this.#expected) {
      // Under way when the position was moved.
      this.#group.seek('journal', this.#shard, this.#expected);
      return;
    }
    this.#expected = batch.nextOffset;
    this.#inbox.push(batch);
    this.#inboxBytes += batch.bytes;
    if (this.#inboxBytes > MAX_INBOX_BYTES) this.#group.pause('journal', this.#shard);
    if (!this.#folding) void this.#foldAll();
  }

  /** Folds the inbox; a failure goes to the reader of the state. */
  async #foldAll(): Promise<void> {
    this.#folding = true;
    try {
      for (let batch = this.#inbox.shift(); batch !== undefined; batch = this.#inbox.shift()) {
        for await (const piece of batch.pieces(NO_WAIT)) {
          if (this.#position === undefined) return;
          this.#fold(piece);
          this.#position = piece.nextOffset;
          this.#wake?.();
        }
        const full = this.#inboxBytes > MAX_INBOX_BYTES;
        this.#inboxBytes -= batch.bytes;
        if (this.#position === undefined) return;
        this.#position = batch.nextOffset;
        if (full && this.#inboxBytes <= MAX_INBOX_BYTES) this.#group.resume('journal', this.#shard);
      }
    } catch (error) {
      this.#failure = error;
    } finally {
      this.#folding = false;
      this.#wake?.();
    }
  }

  #fold({ records, unreadable }: RecordPiece): void {
    for (const record of records) {
      if (this.#barrier !== undefined && record.offset > this.#barrier) {
        throw new ShardLostError(
          'the journal goes on behind our claim: another instance owns the shard',
        );
      }
      this.#view.fold(record.key?.toString() ?? '', record.value?.toString() ?? null);
    }
    if (unreadable !== undefined) {
      const { from, poison } = unreadable;
      throw new JournalFormatError(
        `the journal ${this.#topic} cannot be read at partition ${this.#shard}, offset ${from}: ${poison.message}`,
      );
    }
  }

  /** Returns the meta record if there is one up to `end`; a new journal has none. */
  async meta(end: number, signal: AbortSignal): Promise<JournalMeta | undefined> {
    await this.#until(
      () => this.#view.meta !== undefined || (this.#position as number) >= end,
      signal,
    );
    return this.#view.meta;
  }

  /**
   * Returns the state once the barrier was reached.
   * @throws ShardLostError if the newest owner record is not `claim`; JournalFormatError if the
   * journal is broken
   */
  async upTo(barrier: number, claim: string, signal: AbortSignal): Promise<JournalState> {
    this.#barrier = barrier;
    // What was fetched counts, too: a newer claim may stand there.
    await this.#until(
      () => (this.#position as number) > barrier && this.#position === this.#expected,
      signal,
    );
    if (this.#view.owner?.claim !== claim)
      throw new ShardLostError('a newer claim stands in the journal');
    return this.#view.finish();
  }

  async #until(reached: () => boolean, signal: AbortSignal): Promise<void> {
    const aborted = () => this.#wake?.();
    signal.addEventListener('abort', aborted);
    try {
      for (;;) {
        signal.throwIfAborted();
        if (this.#failure !== undefined) throw this.#failure;
        if (reached()) return;
        const before = this.#position;
        const cancel = this.#clock.after(STALL_MS, () => {
          if (this.#position === before)
            this.#failure ??= new ShardLostError(
              `the journal could not be read further than offset ${before}`,
            );
          this.#wake?.();
        });
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
        cancel();
      }
    } finally {
      this.#wake = undefined;
      signal.removeEventListener('abort', aborted);
    }
  }
}

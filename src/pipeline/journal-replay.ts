/** Reads a shard's journal through the group, from its beginning to the barrier (DESIGN 3 'Claim'). */
import type { JournalMeta } from '../core/journal-records.ts';
import { type JournalState, JournalView } from '../core/journal-view.ts';
import type { Clock } from '../core/ports/clock.ts';
import type { FetchedBatch, ShardGroup } from '../core/ports/kafka.ts';
import { ShardLostError } from './errors.ts';

/** A replay that reads nothing for this long has lost its place; claiming again is the cure. */
const STALL_MS = 60_000;

export class JournalReplay {
  readonly #group: ShardGroup;
  readonly #clock: Clock;
  readonly #shard: number;
  readonly #view = new JournalView();
  #position: number | undefined;
  /** Offset of our own owner record, once written. */
  #barrier: number | undefined;
  #failure: unknown;
  #wake: (() => void) | undefined;

  constructor(group: ShardGroup, clock: Clock, shard: number) {
    this.#group = group;
    this.#clock = clock;
    this.#shard = shard;
  }

  /** Begins to read at the journal's first offset. */
  start(from: number): void {
    this.#position = from;
    this.#read();
  }

  /** A new generation paused everything and forgot the position. */
  rejoined(): void {
    if (this.#position !== undefined) this.#read();
  }

  #read(): void {
    this.#group.seek('journal', this.#shard, this.#position as number);
    this.#group.resume('journal', this.#shard);
  }

  stop(): void {
    this.#position = undefined;
    this.#group.pause('journal', this.#shard);
  }

  fetched(batch: FetchedBatch): void {
    if (this.#position === undefined || this.#failure !== undefined) return;
    if (batch.fetchOffset !== this.#position) {
      // Under way when the position was moved.
      this.#group.seek('journal', this.#shard, this.#position);
      return;
    }
    try {
      for (const record of batch.records) {
        if (this.#barrier !== undefined && record.offset > this.#barrier) {
          throw new ShardLostError('the journal goes on behind our claim: another instance owns the shard');
        }
        this.#view.fold(record.key?.toString() ?? '', record.value?.toString() ?? null);
      }
    } catch (error) {
      this.#failure = error;
    }
    this.#position = batch.nextOffset;
    this.#wake?.();
  }

  /** The journal's meta record, looked for up to `end`. undefined when there is none: a new journal. */
  async meta(end: number, signal: AbortSignal): Promise<JournalMeta | undefined> {
    await this.#until(() => this.#view.meta !== undefined || (this.#position as number) >= end, signal);
    return this.#view.meta;
  }

  /**
   * The whole state, once the barrier was reached or passed.
   * @throws ShardLostError when the newest owner record is not `claim`; JournalFormatError when the journal is broken.
   */
  async upTo(barrier: number, claim: string, signal: AbortSignal): Promise<JournalState> {
    this.#barrier = barrier;
    await this.#until(() => (this.#position as number) > barrier, signal);
    if (this.#view.owner?.claim !== claim) throw new ShardLostError('a newer claim stands in the journal');
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
            this.#failure ??= new ShardLostError(`the journal could not be read further than offset ${before}`);
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

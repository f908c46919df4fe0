/**
 * Recovery of a shard's state. Reads the shard's journal through the group from the beginning to
 * the barrier. Afterwards continues to read, in order to receive operator commands.
 */

import type { Clock } from '../../../packages/client/src/base/clock.ts';
import type { Control } from '../../core/journal/control.ts';
import {
  CONTROL_KEY,
  JournalFormatError,
  type JournalMeta,
} from '../../core/journal/journal-records.ts';
import { type JournalState, JournalView } from '../../core/journal/journal-view.ts';
import type { FetchedBatch, RecordPiece, ShardGroup } from '../../core/ports/kafka.ts';
import type { Logger } from '../../core/ports/telemetry.ts';
import type { SourceRecord } from '../../core/record.ts';
import { describe, ShardLostError } from '../context/errors.ts';

/** Maximum number of fetched bytes that have not been processed. Above it, the journal partition pauses. */
const MAX_INBOX_BYTES = 1024 * 1024;

/** Number of characters needed to distinguish the key of a command from other keys. */
const MAX_KEY = CONTROL_KEY.length + 1;

/** Maximum time without progress. After that, the position counts as lost, and the claim fails. */
const STALL_MS = 60_000;

interface RecoveryDeps {
  readonly group: ShardGroup;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly topic: string;
  readonly shard: number;
}

export class JournalRecovery {
  readonly #deps: RecoveryDeps;
  #view = new JournalView();
  /** True once the state has been recovered. From then on, only commands are processed. */
  #recovered = false;
  #onCommand: (control: Control) => void = () => {};
  /** Position up to which the journal has been processed. undefined before `start`. */
  #position: number | undefined;
  /** Start of the next batch to fetch, after the batches in the inbox. */
  #expected = 0;
  readonly #inbox: FetchedBatch[] = [];
  #inboxBytes = 0;
  #folding = false;
  /** Offset of the owner record that this claim wrote. */
  #barrier: number | undefined;
  #failure: unknown;
  #wake: (() => void) | undefined;

  constructor(deps: RecoveryDeps) {
    this.#deps = deps;
  }

  /** Starts to read at offset `from`. */
  start(from: number): void {
    this.#position = from;
    this.#expected = from;
    this.rejoined();
  }

  /** Resumes in a new generation. The partition is then paused and has no position. */
  rejoined(): void {
    if (this.#position === undefined) return;
    this.#seek();
    this.#move('resume');
  }

  stop(): void {
    this.#position = undefined;
    this.#move('pause');
  }

  #seek(): void {
    this.#deps.group.seek('journal', this.#deps.shard, this.#expected);
  }

  #move(how: 'pause' | 'resume'): void {
    this.#deps.group[how]('journal', this.#deps.shard);
  }

  fetched(batch: FetchedBatch): void {
    if (this.#position === undefined || this.#failure !== undefined) return;
    const isBehind = batch.nextOffset === batch.fetchOffset && batch.fetchOffset > this.#expected;
    if (batch.fetchOffset !== this.#expected && !(this.#recovered && isBehind)) {
      // The batch was in flight while the position was moved.
      this.#seek();
      return;
    }
    this.#expected = batch.nextOffset;
    this.#inbox.push(batch);
    this.#inboxBytes += batch.bytes;
    if (this.#inboxBytes > MAX_INBOX_BYTES) this.#move('pause');
    if (!this.#folding) void this.#foldAll();
  }

  /** Processes the inbox. On a failure, the pending `meta` or `upTo` rejects. */
  async #foldAll(): Promise<void> {
    this.#folding = true;
    try {
      for (let batch = this.#inbox.shift(); batch !== undefined; batch = this.#inbox.shift()) {
        await this.#foldBatch(batch);
        const full = this.#inboxBytes > MAX_INBOX_BYTES;
        this.#inboxBytes -= batch.bytes;
        if (this.#position === undefined) return;
        this.#position = batch.nextOffset;
        if (full && this.#inboxBytes <= MAX_INBOX_BYTES) this.#move('resume');
      }
    } catch (error) {
      this.#failure = error;
    } finally {
      this.#folding = false;
      this.#wake?.();
    }
  }

  async #foldBatch(batch: FetchedBatch): Promise<void> {
    try {
      for await (const piece of batch.pieces()) {
        if (this.#position === undefined) return;
        this.#fold(piece);
        this.#position = piece.nextOffset;
        this.#wake?.();
      }
    } catch (error) {
      if (!this.#recovered) throw error;
      this.#warn(batch.fetchOffset, describe(error));
    } finally {
      batch.release?.();
    }
  }

  #fold({ records, unreadable }: RecordPiece): void {
    for (const record of records) {
      const isCommand = record.key?.toString('latin1', 0, MAX_KEY) === CONTROL_KEY;
      if (!isCommand) {
        if (this.#recovered) continue;
        if (this.#barrier !== undefined && record.offset > this.#barrier)
          throw new ShardLostError(
            'the journal continues after this claim: another instance owns the shard',
          );
      }
      this.#foldRecord(record);
    }
    if (unreadable !== undefined) {
      const { from, poison } = unreadable;
      const { topic, shard } = this.#deps;
      // After the recovery only commands matter, so an unreadable record is skipped.
      if (this.#recovered) {
        this.#warn(from, poison.message);
        return;
      }
      throw new JournalFormatError(
        `the journal ${topic} cannot be read at partition ${shard}, offset ${from}: ${poison.message}`,
      );
    }
  }

  #foldRecord({ key, value, offset }: SourceRecord): void {
    const record = this.#view.fold(key?.toString() ?? '', value?.toString() ?? null);
    if (record.value === undefined) this.#warn(offset, 'it is malformed');
    else if (record.entry === 'control') this.#onCommand(record.value);
  }

  #warn(offset: number, error: string): void {
    const { logger, topic } = this.#deps;
    logger.warn({ topic, offset, error }, 'ignored a record of the journal');
  }

  /** Returns the current command and acknowledgement. Passes later commands to `onCommand`. */
  follow(onCommand: (control: Control) => void): Pick<JournalState, 'control' | 'acknowledged'> {
    this.#onCommand = onCommand;
    const { control, acknowledged } = this.#view;
    return { control, acknowledged };
  }

  /** Returns the meta record, or undefined if there is none below `end`. A new journal has none. */
  async meta(end: number, signal: AbortSignal): Promise<JournalMeta | undefined> {
    await this.#until(
      () => this.#view.meta !== undefined || (this.#position as number) >= end,
      signal,
    );
    return this.#view.meta;
  }

  /**
   * Returns the state once the barrier has been reached.
   * @throws ShardLostError if the newest owner record is from another claim than `claim`;
   * JournalFormatError if the journal is invalid
   */
  async upTo(barrier: number, claim: string, signal: AbortSignal): Promise<JournalState> {
    this.#barrier = barrier;
    // The inbox must be processed too, because it may contain a newer claim.
    await this.#until(
      () => (this.#position as number) > barrier && this.#position === this.#expected,
      signal,
    );
    if (this.#view.owner?.claim !== claim)
      throw new ShardLostError('the journal has a newer claim');
    const state = this.#view.finish();
    this.#recovered = true;
    // From now on, the owner keeps jobs and progress in its own state.
    this.#view = new JournalView();
    this.#view.control = state.control;
    this.#view.acknowledged = state.acknowledged;
    return state;
  }

  async #until(reached: () => boolean, signal: AbortSignal): Promise<void> {
    const wake = () => this.#wake?.();
    signal.addEventListener('abort', wake);
    try {
      for (;;) {
        signal.throwIfAborted();
        if (this.#failure !== undefined) throw this.#failure;
        if (reached()) return;
        const before = this.#position;
        const cancel = this.#deps.clock.after(STALL_MS, () => {
          const message = `the journal could not be read further than offset ${before}`;
          if (this.#position === before) this.#failure ??= new ShardLostError(message);
          wake();
        });
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
        cancel();
      }
    } finally {
      this.#wake = undefined;
      signal.removeEventListener('abort', wake);
    }
  }
}

/**
 * Takes the unassigned records of a piece: decodes them, writes their rows into the batch of their
 * type, and seals full and old batches.
 */
import { ItemBuffers, type SealedItems } from '../../core/batch/buffer.ts';
import { fits } from '../../core/bytes/batch-size.ts';
import { sizeOfRecord } from '../../core/bytes/record-bytes.ts';
import { attempt, NotPrepared } from '../../core/outcome/internal-error.ts';
import type { RecordPiece } from '../../core/ports/kafka.ts';
import type { ContentItem, Decoded, Poison, SourceRecord } from '../../core/record.ts';
import type { ShardContext } from '../context/shard-context.ts';
import type { Backlog } from '../limits/in-flight.ts';
import type { UndecodableRecords } from '../publish/terminal-writer.ts';
import { DECODING_SLICE_MS, sourceRecreated } from '../source/reread.ts';
import type { ShardStages } from './shard-stages.ts';

/** Work left for a piece: dead letters, and the records that were not taken yet. */
export interface Taken extends UndecodableRecords {
  readonly rest: RecordPiece | undefined;
}

export class PieceTaker {
  readonly #shard: ShardContext;
  readonly #stages: ShardStages;
  readonly #buffers: ItemBuffers;
  readonly #unregister: () => void;
  #cancelTimer: (() => void) | undefined;

  constructor(shard: ShardContext, stages: ShardStages) {
    this.#shard = shard;
    this.#stages = stages;
    const { budget, clock, options, state, typeLimit } = shard;
    typeLimit.recovered(state, clock.monotonic());
    const { batch, maxOffsetBytes } = options;
    this.#buffers = new ItemBuffers({ ...batch, maxOffsetBytes }, (type) =>
      shard.openBatch(type, 'intake'),
    );
    const buffers = this.#buffers;
    this.#unregister = budget.register({
      get heldBytes() {
        return buffers.heldBytes;
      },
      largestBytes: () => buffers.largestBytes,
      sealLargest: () => {
        const sealed = buffers.sealLargest();
        if (sealed !== undefined) this.#seal(sealed);
      },
    });
  }

  /** Buffered items. */
  get backlog(): Backlog[] {
    return Array.from(this.#buffers.batches, ({ type, length, records }) => ({
      ...{ type, records: length, oldestEventMs: records.oldestMs },
    }));
  }

  /** Discards the buffers: the next owner reads their records again. */
  stop(): void {
    this.#cancelTimer?.();
    this.#unregister();
    for (const { batch } of this.#buffers.sealAged(Infinity)) batch[Symbol.dispose]();
  }

  sealAll(): void {
    for (const sealed of this.#buffers.sealAged(Infinity)) this.#seal(sealed);
    this.#schedule();
  }

  /** Takes the prepared records of a piece, or as many as there is time for. */
  take(partition: number, piece: RecordPiece): Taken {
    const { clock, inFlight, ledger, options } = this.#shard;
    const state = this.#shard.state.partition(partition);
    const startedMs = clock.monotonic();
    const wallMs = clock.now();
    const dead: UndecodableRecords['records'][number][] = [];
    let oldestDeadMs = Infinity;
    const skipped = new Map<string, number>();
    let consumed = 0;
    let position = state.position;
    let rest: RecordPiece | undefined;

    for (let index = 0; index < piece.records.length; index++) {
      const record = piece.records[index] as SourceRecord;
      const { offset, timestampMs } = record;
      const isLate = index > 0 && clock.monotonic() - startedMs >= DECODING_SLICE_MS;
      let decoded: Decoded | 'unprepared' | undefined;
      if (!isLate) {
        if (!state.matches(offset, timestampMs)) throw sourceRecreated(options, partition, offset);
        if (offset < position) continue;
        state.passGap(position, offset);
        position = offset;
        decoded = state.isAssigned(offset) ? undefined : this.#decode(record, state.replay);
      }
      if (isLate || decoded === 'unprepared') {
        rest = { ...piece, records: piece.records.slice(index) };
        break;
      }
      position++;
      if (decoded === undefined) continue;
      consumed++;
      if ('skip' in decoded) {
        state.assign(offset, timestampMs);
        skipped.set(decoded.skip, (skipped.get(decoded.skip) ?? 0) + 1);
        continue;
      }
      const waitedMs = offset < state.seenBefore ? Math.max(0, wallMs - timestampMs) : 0;
      const poison =
        'item' in decoded ? this.#buffer(decoded.item, startedMs - waitedMs) : decoded.poison;
      if (poison === undefined) continue;
      const type = 'item' in decoded ? decoded.item.type : undefined;
      dead.push({ record, poison, type });
      oldestDeadMs = Math.min(oldestDeadMs, timestampMs);
    }

    let unreadable = rest === undefined ? piece.unreadable : undefined;
    let letters = dead.length;
    if (unreadable !== undefined) {
      const { from, to, timestampMs, poison } = unreadable;
      // Only a single record has its own timestamp here.
      if (poison.reason !== 'unreadable_batch' && !state.matches(from, timestampMs))
        throw sourceRecreated(options, partition, from);
      unreadable = to > position ? { ...unreadable, from: Math.max(position, from) } : undefined;
    }
    if (unreadable !== undefined) {
      const { from, to, timestampMs } = unreadable;
      state.passGap(position, from);
      position = to;
      const places = state.unassignedIn(from, to);
      this.#logUnreadable(partition, unreadable, places);
      consumed += places;
      letters += places;
      oldestDeadMs = Math.min(oldestDeadMs, timestampMs);
    }
    if (rest === undefined) {
      state.passGap(position, piece.nextOffset);
      position = Math.max(position, piece.nextOffset);
    }
    state.position = position;

    ledger.consumed(consumed);
    for (const [reason, count] of skipped) ledger.skipped(reason, count);
    this.#schedule();
    return {
      partition,
      records: dead,
      unreadable,
      inFlight:
        letters === 0 ? undefined : inFlight.unassigned.add(letters, oldestDeadMs, undefined),
      rest,
    };
  }

  #decode(record: SourceRecord, replay: number): Decoded | 'unprepared' {
    const { kind, topics, options } = this.#shard;
    let decoded: Decoded;
    try {
      decoded = kind.decode(record, replay);
    } catch (error) {
      if (error instanceof NotPrepared) return 'unprepared';
      throw error;
    }
    if (!('item' in decoded)) return decoded;
    const { key, outputKey = key, headers } = decoded.item;
    const size = sizeOfRecord({ key: outputKey, value: null, headers });
    if (fits(size, topics.maxOutputBytes)) return decoded;
    // Not reviewed: no decision about it could be published.
    const { topic } = options.output;
    const message = `key and headers alone are larger than a record of topic ${topic} may be: raise its max.message.bytes`;
    return { poison: { reason: 'too_large', message } };
  }

  /** Writes an item's row. @returns the poison of an item that is refused, or whose row cannot be written */
  #buffer(item: ContentItem, sinceMs: number): Poison | undefined {
    const { clock, inFlight, typeLimit } = this.#shard;
    if (!this.#buffers.has(item.type)) {
      const refusal = typeLimit.refusal(item.type, clock.monotonic());
      if (refusal !== undefined) return refusal;
    }
    const added = attempt(() => this.#buffers.add(item, sinceMs));
    if ('poison' in added) return added.poison;
    inFlight.buffered++;
    if (added.made !== undefined) this.#seal(added.made);
    return undefined;
  }

  #logUnreadable(
    partition: number,
    { from, to, poison }: NonNullable<RecordPiece['unreadable']>,
    letters: number,
  ): void {
    if (letters === 0) return;
    const { topic } = this.#shard.options.source;
    const about = { reason: poison.reason, cause: poison.message, letters };
    this.#shard.logger.warn(
      { topic, partition, from, to, ...about },
      'unreadable records of the source topic become dead letters',
    );
  }

  #seal({ batch }: SealedItems): void {
    const { inFlight } = this.#shard;
    const { type, bytes, length, records } = batch;
    inFlight.buffered -= length;
    this.#stages.submit({
      type,
      bytes,
      batch,
      inFlight: inFlight.unassigned.add(length, records.oldestMs, type),
      attempt: 1,
      depth: 0,
      spent: 1,
    });
  }

  /** Seals buffers by the clock, also when no record comes. */
  #schedule(): void {
    this.#cancelTimer?.();
    const dueMs = this.#buffers.nextDueMs;
    if (dueMs === Infinity) return;
    const { clock } = this.#shard;
    this.#cancelTimer = clock.after(Math.max(0, dueMs - clock.monotonic()), () => {
      for (const sealed of this.#buffers.sealAged(clock.monotonic())) this.#seal(sealed);
      this.#schedule();
    });
  }
}

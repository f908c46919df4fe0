/** Takes the unclaimed records of a piece: decodes them, writes their rows into the batch of their type, seals full and old batches. */
import { ItemBuffers, type SealedItems } from '../../core/batch/buffer.ts';
import { fits } from '../../core/bytes/batch-size.ts';
import { sizeOfRecord } from '../../core/bytes/record-bytes.ts';
import { internalPoison, NotPrepared } from '../../core/outcome/internal-error.ts';
import type { RecordPiece } from '../../core/ports/kafka.ts';
import type { ContentItem, Decoded, Poison, SourceRecord } from '../../core/record.ts';
import { openBatch } from '../context/open-batch.ts';
import type { ShardContext } from '../context/shard-context.ts';
import type { Held } from '../limits/in-flight.ts';
import type { Undecodable, UndecodableRecords, UnreadableRange } from '../publish/undecodable.ts';
import { DECODING_TURN_MS, sourceRecreated } from '../source/reread.ts';

/** Work left for a piece: dead letters, and perhaps the rest of its records. */
export interface Taken extends UndecodableRecords {
  /** Records of the piece that are still to be taken. */
  readonly rest: RecordPiece | undefined;
}

export class PieceTaker {
  readonly #shard: ShardContext;
  readonly #buffers: ItemBuffers;
  readonly #submit: (sealed: SealedItems, held: Held) => void;
  readonly #unregister: () => void;
  #cancelTimer: (() => void) | undefined;

  /** @param submit takes a sealed batch; must not block. */
  constructor(shard: ShardContext, submit: (sealed: SealedItems, held: Held) => void) {
    this.#shard = shard;
    this.#submit = submit;
    const { batch, maxOffsetBytes } = shard.context.options;
    this.#buffers = new ItemBuffers({ ...batch, maxOffsetBytes }, (type) => openBatch(shard, type));
    this.#unregister = shard.context.budget.register({
      largestBytes: () => this.#buffers.largestBytes,
      sealLargest: () => {
        const sealed = this.#buffers.sealLargest();
        if (sealed !== undefined) this.#seal(sealed);
      },
    });
  }

  get oldestEventMs(): number {
    return this.#buffers.oldestEventMs;
  }

  /** Throws away what is buffered: the next owner reads it again. */
  stop(): void {
    this.#cancelTimer?.();
    this.#unregister();
    const bytes = this.#buffers.heldBytes;
    for (const { batch } of this.#buffers.sealAged(Number.POSITIVE_INFINITY)) batch.sink.release();
    this.#shard.context.budget.unbuffer(bytes);
  }

  /** Takes the records of a piece, which were prepared, or as many as there is time for. */
  take(number: number, piece: RecordPiece): Taken {
    let { unreadable, nextOffset } = piece;
    let rest: RecordPiece | undefined;
    const { context, state, inHand } = this.#shard;
    const partition = state.partition(number);
    const nowMs = context.clock.monotonic();
    const wallMs = context.clock.now();
    const poison: Undecodable[] = [];
    let oldestPoisonMs = Number.POSITIVE_INFINITY;
    const skipped = new Map<string, number>();
    let consumed = 0;
    let position = partition.position;
    const { records } = piece;
    for (let index = 0; index < records.length; index++) {
      const record = records[index] as SourceRecord;
      const { offset } = record;
      if (index > 0 && context.clock.monotonic() - nowMs >= DECODING_TURN_MS) {
        rest = { ...piece, records: records.slice(index) };
        [unreadable, nextOffset] = [undefined, position];
        break;
      }
      if (!partition.matches(offset, record.timestampMs))
        throw sourceRecreated(context.options, number, offset);
      if (offset < position) continue;
      partition.passGap(position, offset);
      position = offset;
      const decoded = partition.isClaimed(offset)
        ? undefined
        : this.#decode(record, partition.replay);
      if (decoded === 'unprepared') {
        rest = { ...piece, records: records.slice(index) };
        [unreadable, nextOffset] = [undefined, position];
        break;
      }
      position++;
      if (decoded === undefined) continue;
      consumed++;
      if ('skip' in decoded) {
        partition.claim(offset, record.timestampMs);
        skipped.set(decoded.skip, (skipped.get(decoded.skip) ?? 0) + 1);
        continue;
      }
      const waitedMs = offset < partition.seenBefore ? Math.max(0, wallMs - record.timestampMs) : 0;
      const why = 'item' in decoded ? this.#buffer(decoded.item, nowMs - waitedMs) : decoded.poison;
      if (why === undefined) continue;
      poison.push({ record, poison: why });
      oldestPoisonMs = Math.min(oldestPoisonMs, record.timestampMs);
    }
    let letters = poison.length;
    let range: UnreadableRange | undefined;
    if (unreadable !== undefined && unreadable.poison.reason !== 'unreadable_batch') {
      // A single record, whose own timestamp is known.
      if (!partition.matches(unreadable.from, unreadable.timestampMs))
        throw sourceRecreated(context.options, number, unreadable.from);
    }
    if (unreadable !== undefined && unreadable.to > position) {
      const from = Math.max(position, unreadable.from);
      range = { ...unreadable, from, partition: number };
      partition.passGap(position, from);
      position = unreadable.to;
      const places = partition.unclaimedIn(from, position);
      this.#sayUnreadable(range, places);
      consumed += places;
      letters += places;
      oldestPoisonMs = Math.min(oldestPoisonMs, unreadable.timestampMs);
    }
    partition.passGap(position, nextOffset);
    partition.position = Math.max(position, nextOffset);
    context.ledger.consumed(consumed);
    for (const [reason, count] of skipped) context.ledger.skipped(reason, count);
    const held = letters === 0 ? undefined : inHand.unclaimed.hold(letters, oldestPoisonMs);
    this.#schedule();
    return { records: poison, unreadable: range, held, rest };
  }

  #decode(record: SourceRecord, replay: number): Decoded | 'unprepared' {
    const { kind, topics, options } = this.#shard.context;
    let decoded: Decoded;
    try {
      decoded = kind.decode(record, replay);
    } catch (error) {
      if (error instanceof NotPrepared) return 'unprepared';
      throw error;
    }
    if (!('item' in decoded)) return decoded;
    const { key, outputKey = key, headers } = decoded.item;
    if (fits(sizeOfRecord({ key: outputKey, value: null, headers }), topics.maxOutputBytes))
      return decoded;
    // No decision about it could be published: it is not reviewed either.
    const message = `key and headers alone are larger than a record of topic ${options.output.topic} may be: raise its max.message.bytes`;
    return { poison: { reason: 'too_large', message } };
  }

  /** Writes an item's row. @returns why it is a dead letter, when that fails */
  #buffer(item: ContentItem, sinceMs: number): Poison | undefined {
    const { inHand, context } = this.#shard;
    const before = this.#buffers.heldBytes;
    let sealed: SealedItems | undefined;
    let poison: Poison | undefined;
    try {
      sealed = this.#buffers.add(item, sinceMs);
      inHand.buffered++;
    } catch (error) {
      poison = internalPoison(error);
    }
    const change = this.#buffers.heldBytes + (sealed?.batch.heldBytes ?? 0) - before;
    // First: what is sealed to make room for the change must not come before it.
    if (sealed !== undefined) this.#seal(sealed);
    if (change !== 0) context.budget.buffer(change);
    return poison;
  }

  #sayUnreadable({ partition, from, to, poison }: UnreadableRange, letters: number): void {
    if (letters === 0) return;
    const { logger, context } = this.#shard;
    const { topic } = context.options.source;
    logger.warn(
      { topic, partition, from, to, reason: poison.reason, cause: poison.message, letters },
      'records of the source topic cannot be read: they become dead letters',
    );
  }

  #seal(sealed: SealedItems): void {
    const { context, inHand } = this.#shard;
    const { length, heldBytes, records } = sealed.batch;
    inHand.buffered -= length;
    const held = inHand.unclaimed.hold(length, records.oldestMs);
    context.budget.seal(heldBytes);
    this.#submit(sealed, held);
  }

  /** Buffers seal by the wall clock, also when no record comes. */
  #schedule(): void {
    this.#cancelTimer?.();
    const dueMs = this.#buffers.nextDueMs;
    if (dueMs === Number.POSITIVE_INFINITY) return;
    const { clock } = this.#shard.context;
    this.#cancelTimer = clock.after(Math.max(0, dueMs - clock.monotonic()), () => {
      for (const sealed of this.#buffers.sealAged(clock.monotonic())) this.#seal(sealed);
      this.#schedule();
    });
  }
}

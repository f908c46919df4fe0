/**
 * Intake's loop over one fetched batch. Waits until the next records may be decoded, skips assigned
 * ones, and decodes the others into rows or dead letters.
 */
import { Counts } from '../../../packages/client/src/base/counts.ts';
import { fits } from '../../core/bytes/encoded-records.ts';
import { sizeOfRecord } from '../../core/bytes/record-bytes.ts';
import { valueLengthOf } from '../../core/bytes/record-view.ts';
import type { PartitionState, UnreadRange } from '../../core/journal/partition-state.ts';
import type { FetchedBatch, RecordPiece, UnreadableRecords } from '../../core/ports/kafka.ts';
import type { Lease } from '../../core/ports/memory.ts';
import type { Decoded, SourceRecord } from '../../core/record.ts';
import type { ShardContext } from '../context/shard-context.ts';
import { type DeadLetter, DeadLetterChunk } from '../context/terminal-writer.ts';
import type { InFlightRecords } from '../limits/in-flight.ts';
import { DECODING_SLICE_MS, decodeCost } from '../limits/memory-budget.ts';
import { sourceRecreated } from '../source/reread.ts';
import type { OpenBatches } from './open-batches.ts';
import type { ShardStages } from './shard-stages.ts';

/** Bytes of dead letters above which they are published before the next piece. */
const MAX_DUE_BYTES = 256 * 1024;

export class BatchTaker {
  readonly #shard: ShardContext;
  readonly #stages: ShardStages;
  readonly #open: OpenBatches;
  readonly #flow: () => void;
  /** Records of the piece that are outside the sample. */
  #outside: ReadonlySet<SourceRecord> = new Set();
  /** Memory of intake for the records of the piece. */
  #room: Lease | undefined;
  /** Memory for decoding the next record, if decoding it needs much. */
  #decoding: Lease | undefined;
  #waitsForRoom = false;
  /** Encoded dead letters that have not been published. */
  readonly #due = new DeadLetterChunk();

  /** @param flow called when partitions may have to be paused or resumed */
  constructor(shard: ShardContext, stages: ShardStages, open: OpenBatches, flow: () => void) {
    this.#shard = shard;
    this.#stages = stages;
    this.#open = open;
    this.#flow = flow;
  }

  get waitsForRoom(): boolean {
    return this.#waitsForRoom;
  }

  /**
   * Takes all records of a batch. Only one piece of it is in memory, however large the batch is.
   * @param range unread range that contains the records
   * @throws the error that ends the shard
   */
  async take(batch: FetchedBatch, range: UnreadRange): Promise<void> {
    try {
      await this.takePieces(batch.partition, range, async (take) => {
        for await (const piece of batch.pieces((bytes) => this.#reserve(bytes))) await take(piece);
      });
    } finally {
      batch.release?.();
    }
  }

  /**
   * Takes the records that `read` passes on, piece by piece.
   * @throws the error of `read`, or the error that ends the shard
   */
  async takePieces(
    partition: number,
    range: UnreadRange,
    read: (take: (piece: RecordPiece) => Promise<void>) => Promise<void>,
  ): Promise<void> {
    try {
      await read((piece) => this.#takePiece(partition, range, piece));
      await this.#publishDue();
    } finally {
      this.#giveBack();
    }
  }

  async #takePiece(partition: number, range: UnreadRange, piece: RecordPiece): Promise<void> {
    const { clock, kind, signal } = this.#shard;
    const { writer } = this.#stages;
    this.#outside = new Set(kind.isOutsideSample && piece.records.filter(kind.isOutsideSample));
    for (let at = 0; ; ) {
      await this.#ready(piece.records, at);
      // The shard may have been lost between the last check and this continuation.
      signal.throwIfAborted();
      const { next, dead } = this.#takeSome(partition, range, piece.records, at);
      await writer.collect(this.#due, dead);
      signal.throwIfAborted();
      at = next;
      if (at === piece.records.length) break;
      await clock.sleep(0, signal);
    }
    const unreadable = this.#pass(partition, range, piece);
    this.#giveBack();
    await writer.collect(this.#due, unreadable);
    if (this.#due.bytes >= MAX_DUE_BYTES) await this.#publishDue();
    this.#flow();
  }

  /**
   * Waits until the records from index `at` on may be decoded, so that the caller need not wait
   * again. After each wait all conditions are checked again, because the wait may have changed them.
   * Intake memory is kept while schemas load, because settling does not need it.
   * @throws the signal's reason
   */
  async #ready(records: readonly SourceRecord[], at: number): Promise<void> {
    const { budget, control, kind, signal, waits } = this.#shard;
    const first = records[at];
    const cost = first === undefined ? 0 : this.#costOf(first);
    // Schemas of other records, which may be requested repeatedly, must not delay a costly record.
    const next = first !== undefined && cost > 0 ? [first] : this.#sampled(records.slice(at));
    for (let isPrepared = false; ; ) {
      signal.throwIfAborted();
      if (!control.takesIn) {
        this.#giveBack();
        await this.#publishDue();
        await control.takingIn();
      } else if (this.#room === undefined) {
        await this.#reserve(records.reduce((sum, one) => sum + Math.max(0, valueLengthOf(one)), 1));
      } else {
        const loading = isPrepared ? undefined : kind.prepare?.(next, signal);
        if (loading !== undefined) {
          this.#endDecoding();
          await this.#publishDue();
          await waits.during('schema_registry', loading);
          isPrepared = true;
          continue;
        }
        if (cost === 0 || this.#decoding !== undefined) return;
        await this.#publishDue();
        this.#decoding = await waits.during('memory', budget.reserve('work', cost, signal));
      }
      isPrepared = false;
    }
  }

  #sampled(records: readonly SourceRecord[]): readonly SourceRecord[] {
    if (this.#outside.size === 0) return records;
    return records.filter((record) => !this.#outside.has(record));
  }

  /** Replaces the reservation of intake memory. @throws the signal's reason */
  async #reserve(bytes: number): Promise<void> {
    const { budget, signal, waits } = this.#shard;
    this.#giveBack();
    if (budget.mayTake) {
      this.#room = budget.lease('intake', bytes);
      return;
    }
    await this.#publishDue();
    this.#waitsForRoom = true;
    this.#flow();
    try {
      const room = budget.reserve('intake', bytes, signal);
      this.#room = await waits.while('memory', room, 'intake');
    } finally {
      this.#waitsForRoom = false;
    }
  }

  #giveBack(): void {
    this.#endDecoding();
    this.#room?.[Symbol.dispose]();
    this.#room = undefined;
  }

  #endDecoding(): void {
    this.#decoding?.[Symbol.dispose]();
    this.#decoding = undefined;
  }

  async #publishDue(): Promise<void> {
    await this.#stages.writer.publish(this.#due);
    this.#shard.signal.throwIfAborted();
  }

  /**
   * Takes records from index `at` on until DECODING_SLICE_MS have passed, or the next record needs
   * much memory.
   * @returns the index of the next record, and the dead letters
   */
  #takeSome(partition: number, range: UnreadRange, records: readonly SourceRecord[], at: number) {
    const { clock, inFlight, ledger, options } = this.#shard;
    const state = this.#shard.state.partition(partition);
    const startedMs = clock.monotonic();
    const wallMs = clock.now();
    const dead: DeadLetter[] = [];
    const skipped = new Counts();
    let consumed = 0;
    let index = at;
    try {
      for (; index < records.length; index++) {
        const record = records[index] as SourceRecord;
        if (index > at) {
          const isLate = clock.monotonic() - startedMs >= DECODING_SLICE_MS;
          if (isLate || this.#decoding !== undefined || this.#costOf(record) > 0) break;
        }
        const { offset, timestampMs } = record;
        if (!state.matches(offset, timestampMs)) throw sourceRecreated(options, partition, offset);
        // After a rejoin and a leap, the inbox may have records of two ranges.
        if (offset < range.position || offset >= range.end) continue;
        state.passGap(range.position, offset);
        state.advance(range, offset + 1);
        if (state.isAssigned(offset)) continue;
        consumed++;
        const decoded = this.#outside.has(record)
          ? ({ skip: 'sample' } as const)
          : this.#decode(record, state.replay);
        if ('skip' in decoded) {
          state.assign(offset, timestampMs);
          skipped.add(decoded.skip);
          continue;
        }
        state.taken++;
        const waitedMs = offset < state.seenBefore ? Math.max(0, wallMs - timestampMs) : 0;
        const poison =
          'item' in decoded ? this.#open.add(decoded.item, startedMs - waitedMs) : decoded.poison;
        if (poison === undefined) continue;
        const alone = inFlight.unassigned.add(1, timestampMs);
        const place = { partition, offset, timestampMs, inFlight: alone };
        dead.push({ ...place, poison, stage: 'decode', record });
      }
    } finally {
      ledger.consumed(consumed);
      for (const [reason, times] of skipped) ledger.skipped(reason, times);
    }
    this.#endDecoding();
    this.#open.schedule();
    return { next: index, dead };
  }

  /**
   * Advances the range past the unreadable offsets and gaps after the records of a piece.
   * @returns the dead letters of the unreadable offsets
   */
  #pass(
    partition: number,
    range: UnreadRange,
    { unreadable, nextOffset }: RecordPiece,
  ): Iterable<DeadLetter> {
    const { ledger, logger, options } = this.#shard;
    const state = this.#shard.state.partition(partition);
    let dead: Iterable<DeadLetter> = [];
    if (unreadable !== undefined) {
      const { timestampMs, poison } = unreadable;
      const to = Math.min(unreadable.to, range.end);
      // An unreadable batch has a timestamp that may not be the timestamp of any record, so it is not compared.
      if (poison.reason !== 'unreadable_batch' && !state.matches(unreadable.from, timestampMs))
        throw sourceRecreated(options, partition, unreadable.from);
      state.passGap(range.position, Math.min(unreadable.from, range.end));
      const from = Math.max(range.position, unreadable.from);
      const letters = state.unassignedIn(from, to);
      state.advance(range, to);
      state.taken += letters;
      if (letters > 0) {
        const inFlight = this.#shard.inFlight.unassigned.add(letters, timestampMs);
        dead = lettersOf(state, { ...unreadable, from, to }, inFlight);
        const about = { reason: poison.reason, cause: poison.message, letters };
        logger.warn(
          { topic: options.source.topic, partition, from, to, ...about },
          'unreadable records of the source topic become dead letters',
        );
      }
      ledger.consumed(letters);
    }
    state.passGap(range.position, Math.min(nextOffset, range.end));
    state.advance(range, nextOffset);
    return dead;
  }

  #costOf(record: SourceRecord): number {
    return this.#outside.has(record) ? 0 : decodeCost(this.#shard.kind, record);
  }

  #decode(record: SourceRecord, replay: number): Decoded {
    const { kind, topics, options } = this.#shard;
    const decoded = kind.decode(record, replay);
    if (!('item' in decoded)) return decoded;
    const { key, outputKey = key, headers } = decoded.item;
    const size = sizeOfRecord({ key: outputKey, value: null, headers });
    if (fits(size, topics.maxOutputBytes)) return decoded;
    // The item is not reviewed, because its decision could not be published.
    const { topic } = options.output;
    const message = `key and headers alone exceed the maximum record size of topic ${topic}: raise its max.message.bytes`;
    return { poison: { reason: 'too_large', message } };
  }
}

/** Yields the dead letters of unreadable offsets one at a time, because there may be a million of them. */
function* lettersOf(
  state: PartitionState,
  { from, to, timestampMs, poison }: UnreadableRecords,
  inFlight: InFlightRecords,
): Generator<DeadLetter> {
  const { partition } = state;
  // The timestamp of an unreadable batch is not the timestamp of its records.
  const own = poison.reason === 'unreadable_batch' ? undefined : timestampMs;
  for (let offset = from; offset < to; offset++) {
    if (state.isAssigned(offset)) continue;
    yield { partition, offset, timestampMs: own, poison, stage: 'decode', inFlight };
  }
}

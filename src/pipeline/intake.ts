/**
 * Takes source records that nobody has claimed: decodes them, buffers them by type, seals full and old buffers, sends
 * what cannot be decoded to the dead letters (DESIGN 3 'Intake').
 */
import { ItemBuffers, type SealedItems } from '../core/buffer.ts';
import type { FetchedBatch, RecordPiece } from '../core/ports/kafka.ts';
import type { SourceCoordinate } from '../core/record.ts';
import { RefusedError } from './errors.ts';
import type { Held } from './in-hand.ts';
import { type EndsWanted, LogEnds } from './log-ends.ts';
import { memoryOfItems } from './memory-budget.ts';
import type { ShardRuntime } from './shard-runtime.ts';
import { DECODING_TURN_MS, rangesBehind } from './source-log.ts';
import { deadLetterUndecodable, type Undecodable, type UnreadableRange } from './undecodable.ts';

/** Fetched but not yet taken, per shard: beyond it the shard's partitions pause. */
const MAX_INBOX_BYTES = 256 * 1024;

/** Taken records that cannot be decoded, and offsets that cannot be read. */
interface Poison {
  readonly records: readonly Undecodable[];
  readonly unreadable: UnreadableRange | undefined;
  readonly held: Held | undefined;
  /** What is still to be taken of the piece. */
  readonly rest: RecordPiece | undefined;
}

export class Intake implements EndsWanted {
  readonly #shard: ShardRuntime;
  readonly #buffers: ItemBuffers;
  readonly #submit: (sealed: SealedItems, held: Held) => void;
  readonly #commitProgress: () => void;
  readonly #inbox: FetchedBatch[] = [];
  #inboxBytes = 0;
  #draining = false;
  /** The partition whose records are being taken. */
  #taking: number | undefined;
  #waitingForTurn = false;
  /** Where the next fetched batch must start, by partition: ahead of the state's position by what is in the inbox. */
  readonly #expected = new Map<number, number>();
  readonly #paused = new Set<number>();
  /** Partitions whose range is being asked for. */
  readonly #checking = new Set<number>();
  /** Partitions whose log begins behind what was fetched: they go on there once what is in the inbox is taken. */
  readonly #overtaken = new Set<number>();
  readonly #ends = new LogEnds();
  #spanWaits = new Map<number, () => void>();
  #cancelTimer: (() => void) | undefined;
  readonly #unregister: () => void;

  /**
   * @param submit takes a sealed batch; must not block.
   * @param commitProgress is asked to commit W soon: skipped records alone have moved it far.
   */
  constructor(shard: ShardRuntime, submit: (sealed: SealedItems, held: Held) => void, commitProgress: () => void) {
    this.#shard = shard;
    this.#submit = submit;
    this.#commitProgress = commitProgress;
    this.#buffers = new ItemBuffers(shard.context.options.batch);
    this.#unregister = shard.context.budget.register({
      largestBytes: () => this.#buffers.largestBytes,
      sealLargest: () => {
        const sealed = this.#buffers.sealLargest();
        if (sealed !== undefined) this.#seal(sealed);
      },
    });
    for (const state of shard.state.partitions.values()) this.#expected.set(state.partition, state.position);
  }

  /** Goes on after a rejoin, at the newest record that was read: a topic that was created again meanwhile has another one there. */
  rejoined(): void {
    for (const [partition, state] of this.#shard.state.partitions) {
      const seen = state.expectAgain();
      if (seen !== undefined) this.#expected.set(partition, Math.min(seen, this.#expected.get(partition) as number));
    }
    this.resume();
  }

  /** Starts to read: everything is paused, and no position is known. */
  resume(): void {
    this.#paused.clear();
    for (const [partition, offset] of this.#expected) {
      this.#shard.context.group.seek('source', partition, offset);
      this.#paused.add(partition);
    }
    this.#flow();
  }

  /** Takes nothing more; what is buffered is read again by the next owner. */
  stop(): void {
    for (const [partition] of this.#expected) this.#shard.context.group.pause('source', partition);
    this.#cancelTimer?.();
    this.#unregister();
    for (const end of this.#spanWaits.values()) end();
    this.#spanWaits.clear();
    let bytes = 0;
    for (let sealed = this.#buffers.sealLargest(); sealed !== undefined; sealed = this.#buffers.sealLargest()) {
      bytes += memoryOfItems(sealed.items.length, sealed.bytes);
    }
    this.#shard.context.budget.unbuffer(bytes);
  }

  fetched(batch: FetchedBatch): void {
    const expected = this.#expected.get(batch.partition);
    if (expected === undefined) return;
    this.#ends.fetched(batch.partition, batch.endOffset, this.#shard.context.clock.monotonic());
    if (batch.nextOffset === batch.fetchOffset && (batch.fetchOffset > expected || batch.endOffset < batch.fetchOffset)) {
      this.#checkRange(batch.partition);
      return;
    }
    if (batch.fetchOffset !== expected) {
      // Under way when the position was moved: what it holds was read already, or comes again.
      this.#shard.context.group.seek('source', batch.partition, expected);
      return;
    }
    this.#expected.set(batch.partition, batch.nextOffset);
    this.#inbox.push(batch);
    this.#inboxBytes += batch.bytes;
    this.#flow();
    if (!this.#draining) this.#shard.spawn('intake', () => this.#drain());
  }

  /** Records between what was read and the end of the log, over the shard's partitions. */
  get lag(): number {
    let lag = 0;
    for (const { partition, position } of this.#shard.state.partitions.values())
      lag += Math.max(0, (this.#ends.of(partition) ?? position) - position);
    return lag;
  }

  /** Where the records begin that are being taken. */
  get taking(): SourceCoordinate | undefined {
    if (this.#taking === undefined) return undefined;
    return { partition: this.#taking, offset: this.#shard.state.partition(this.#taking).position };
  }

  /** End of the log, as far as it is known. */
  endOf(partition: number): number | undefined {
    return this.#ends.of(partition);
  }

  endsNotHeardSince(atMs: number): number[] {
    return [...this.#expected.keys()].filter((partition) => !this.#ends.isHeardSince(partition, atMs));
  }

  endsAnswered(ends: ReadonlyMap<number, number>): void {
    const nowMs = this.#shard.context.clock.monotonic();
    for (const partition of this.#expected.keys()) {
      const end = ends.get(partition);
      if (end !== undefined) this.#ends.answered(partition, end, nowMs);
    }
  }

  get oldestEventMs(): number {
    return this.#buffers.oldestEventMs;
  }

  /** The position seems to be outside the log: ask the cluster, because a batch that was under way for another position looks alike. */
  #checkRange(partition: number): void {
    if (this.#checking.has(partition)) return;
    this.#checking.add(partition);
    this.#shard.spawn('range', async () => {
      try {
        const { context, state, signal, logger, labels } = this.#shard;
        const read = new Map([[partition, this.#expected.get(partition) as number]]);
        const ranges = await this.#shard.saysWhy('kafka', rangesBehind(context, read, signal));
        const range = ranges.get(partition);
        signal.throwIfAborted();
        const expected = this.#expected.get(partition) as number;
        if (range !== undefined && expected > range.end) throw this.#recreated(partition, expected);
        if (range !== undefined && expected < range.start) {
          if (this.#hasInbox(partition)) {
            this.#overtaken.add(partition);
            this.#flow();
            return;
          }
          const own = state.partition(partition);
          if (own.position < range.start) {
            const lost = own.unclaimedIn(own.position, range.start);
            context.metrics.count('unread_records_lost_total', labels, lost);
            logger.error(
              { partition, from: own.position, to: range.start, lost },
              'records were removed from the source topic before they were read',
            );
            own.passGap(own.position, range.start);
            own.position = range.start;
          }
          this.#expected.set(partition, range.start);
        }
        context.group.seek('source', partition, this.#expected.get(partition) as number);
      } finally {
        this.#checking.delete(partition);
      }
    });
  }

  #hasInbox(partition: number): boolean {
    return this.#inbox.some((batch) => batch.partition === partition);
  }

  async #drain(): Promise<void> {
    this.#draining = true;
    try {
      for (let batch = this.#inbox[0]; batch !== undefined; batch = this.#inbox[0]) {
        this.#taking = batch.partition;
        await this.#takeAll(batch);
        this.#taking = undefined;
        this.#inbox.shift();
        this.#inboxBytes -= batch.bytes;
        if (!this.#hasInbox(batch.partition) && this.#overtaken.delete(batch.partition)) this.#checkRange(batch.partition);
        this.#flow();
      }
    } finally {
      this.#draining = false;
    }
  }

  /** Piece by piece: what is decoded and not yet taken is one piece, whatever the batch unpacks to. */
  async #takeAll(batch: FetchedBatch): Promise<void> {
    const { signal } = this.#shard;
    let admitted = false;
    const admit = async (bytes: number) => {
      const release = await this.#admit(bytes);
      admitted = true;
      return release;
    };
    for await (const piece of batch.pieces(admit)) {
      signal.throwIfAborted();
      await this.#shard.prepared(piece.records);
      signal.throwIfAborted();
      for (let rest: RecordPiece | undefined = piece; rest !== undefined; ) {
        const poison: Poison = await this.#takeInTurn(batch.partition, rest, admitted);
        signal.throwIfAborted();
        this.#schedule();
        await deadLetterUndecodable(this.#shard, poison.records, poison.unreadable, poison.held);
        signal.throwIfAborted();
        admitted = false;
        this.#flow();
        rest = poison.rest;
        if (rest !== undefined) await this.#shard.context.clock.sleep(0, signal);
      }
    }
    signal.throwIfAborted();
  }

  /**
   * Memory for a record larger than a piece. The turn comes first: work that waits for room of intake would keep settling, which
   * makes that room, from its own. @throws the signal's reason
   */
  async #admit(bytes: number): Promise<() => void> {
    const { context, signal } = this.#shard;
    const letNextIn = await this.#turn();
    letNextIn?.();
    return this.#shard.saysWhy('work_memory', context.budget.work(bytes, signal));
  }

  /** Resolves when intake has room. @returns what lets the next in. @throws the signal's reason */
  async #turn(): Promise<(() => void) | undefined> {
    const { context, signal } = this.#shard;
    if (context.budget.mayTake) return undefined;
    this.#waitingForTurn = true;
    this.#flow();
    const done = context.waits.begin('memory', this.#shard.who);
    try {
      return await context.budget.intakeTurn(signal);
    } finally {
      done();
      this.#waitingForTurn = false;
    }
  }

  /** @param admitted it had its turn before it was read. @returns what cannot be decoded. */
  async #takeInTurn(partition: number, piece: RecordPiece, admitted: boolean): Promise<Poison> {
    const letNextIn = admitted ? undefined : await this.#turn();
    try {
      this.#shard.signal.throwIfAborted();
      return this.#take(partition, piece);
    } finally {
      letNextIn?.();
    }
  }

  /** Takes the records of a piece, or as many as there is time for. */
  #take(number: number, piece: RecordPiece): Poison {
    let { unreadable, nextOffset } = piece;
    let rest: RecordPiece | undefined;
    const { context, state, inHand } = this.#shard;
    const partition = state.partition(number);
    const { kind, budget } = context;
    const nowMs = context.clock.monotonic();
    const wallMs = context.clock.now();
    const poison: Undecodable[] = [];
    let oldestPoisonMs = Number.POSITIVE_INFINITY;
    const skipped = new Map<string, number>();
    let consumed = 0;
    let position = partition.position;
    for (const [index, record] of piece.records.entries()) {
      const { offset } = record;
      if (index > 0 && context.clock.monotonic() - nowMs >= DECODING_TURN_MS) {
        rest = { ...piece, records: piece.records.slice(index) };
        [unreadable, nextOffset] = [undefined, position];
        break;
      }
      if (!partition.matches(offset, record.timestampMs)) throw this.#recreated(partition.partition, offset);
      if (offset < position) continue;
      if (offset > position) partition.passGap(position, offset);
      position = offset + 1;
      if (partition.isClaimed(offset)) continue;
      consumed++;
      const decoded = kind.decode(record, partition.replay);
      if ('item' in decoded) {
        const { item } = decoded;
        budget.buffer(memoryOfItems(1, item.bytes));
        inHand.buffered++;
        const waitedMs = offset < partition.seenBefore ? Math.max(0, wallMs - record.timestampMs) : 0;
        const sinceMs = nowMs - waitedMs;
        const sealed = this.#buffers.add(item, sinceMs);
        if (sealed !== undefined) this.#seal(sealed);
      } else if ('poison' in decoded) {
        poison.push({ record, poison: decoded.poison });
        oldestPoisonMs = Math.min(oldestPoisonMs, record.timestampMs);
      } else {
        partition.claim(offset, record.timestampMs);
        skipped.set(decoded.skip, (skipped.get(decoded.skip) ?? 0) + 1);
      }
    }
    let letters = poison.length;
    let range: UnreadableRange | undefined;
    if (unreadable !== undefined && unreadable.poison.reason !== 'unreadable_batch') {
      // A single record, whose own timestamp is known.
      if (!partition.matches(unreadable.from, unreadable.timestampMs)) throw this.#recreated(number, unreadable.from);
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
    return { records: poison, unreadable: range, held, rest };
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
    inHand.buffered -= sealed.items.length;
    const held = inHand.unclaimed.hold(sealed.items.length, sealed.oldestEventMs);
    context.budget.seal(memoryOfItems(sealed.items.length, sealed.bytes));
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

  /** Pauses and resumes partitions as the inbox, the memory and the span allow; called whenever one of them moved. */
  #flow(): void {
    const { context, state, signal } = this.#shard;
    if (signal.aborted) return;
    // One that holds nothing fetches all the same: only with a batch in hand is it in line for room.
    const full = this.#waitingForTurn || this.#inboxBytes > MAX_INBOX_BYTES;
    for (const [partition] of this.#expected) {
      const wide = state.underWay(partition) > context.options.source.maxSpan;
      this.#waitForSpan(partition, wide);
      if (wide && state.partition(partition).dirty) this.#commitProgress();
      const pause = full || wide || this.#overtaken.has(partition);
      if (pause === this.#paused.has(partition)) continue;
      if (pause) {
        this.#paused.add(partition);
        context.group.pause('source', partition);
      } else {
        this.#paused.delete(partition);
        context.group.resume('source', partition);
      }
    }
  }

  /** W moved, or records were settled: partitions that had too much under way may go on. */
  roomMade(): void {
    this.#flow();
  }

  #waitForSpan(partition: number, wide: boolean): void {
    const end = this.#spanWaits.get(partition);
    if (wide && end === undefined) {
      this.#spanWaits.set(partition, this.#shard.context.waits.begin('span', `partition ${partition}`));
    } else if (!wide && end !== undefined) {
      end();
      this.#spanWaits.delete(partition);
    }
  }

  #recreated(partition: number, offset: number): RefusedError {
    const { source, journal } = this.#shard.context.options;
    return new RefusedError(
      `offset ${offset} in partition ${partition} of source topic ${source.topic} is not what this pipeline has read there: the topic was deleted and made anew, or lost its newest records. ` +
        `Give the pipeline a new journal topic and a new group to review the new topic from its beginning; what the old journal ${journal.topic} still holds can no longer be retried.`,
    );
  }
}

/**
 * Inbox of a shard: holds fetched batches until they are taken, piece by piece, knows where each partition is read next, and
 * pauses the partitions that have no room (DESIGN 3 'Intake').
 */
import type { SealedItems } from '../../core/batch/buffer.ts';
import { NotPrepared } from '../../core/outcome/internal-error.ts';
import type { FetchedBatch, RecordPiece } from '../../core/ports/kafka.ts';
import type { SourceCoordinate } from '../../core/record.ts';
import { Unprepared } from '../context/errors.ts';
import type { ShardContext } from '../context/shard-context.ts';
import { EndOffsets, type EndsWanted } from '../limits/end-offsets.ts';
import type { Held } from '../limits/in-flight.ts';
import { deadLetterUndecodable, type UndecodableRecords } from '../publish/undecodable.ts';
import { PATIENCE_MS, rangesBehind, sourceRecreated } from '../source/reread.ts';
import { PieceTaker, type Taken } from './piece-taker.ts';

/** Fetched but not yet taken, per shard: beyond it the shard's partitions pause. */
const MAX_INBOX_BYTES = 256 * 1024;
/** Pieces whose dead letters go out together. */
const MAX_DUE = 1_000;
/** How often what was prepared for a record may be gone again before it is decoded: while intake waits for memory. */
const MAX_PREPARED = 10;

export class Intake implements EndsWanted {
  readonly #shard: ShardContext;
  readonly #taker: PieceTaker;
  readonly #commitProgress: () => void;
  readonly #inbox: FetchedBatch[] = [];
  #inboxBytes = 0;
  #draining = false;
  /** The partition whose records are being taken. */
  #taking: number | undefined;
  #waitingForTurn = false;
  /** Their dead letters are not out yet. */
  #due: UndecodableRecords[] = [];
  /** Where the next fetched batch must start, by partition: ahead of the state's position by what is in the inbox. */
  readonly #expected = new Map<number, number>();
  readonly #paused = new Set<number>();
  /** Partitions whose range is being asked for. */
  readonly #checking = new Set<number>();
  /** Partitions whose log begins behind what was fetched: they go on there once what is in the inbox is taken. */
  readonly #overtaken = new Set<number>();
  readonly #ends = new EndOffsets();
  #spanWaits = new Map<number, () => void>();

  /**
   * @param submit takes a sealed batch; must not block.
   * @param commitProgress is asked to commit W soon: skipped records alone have moved it far.
   */
  constructor(
    shard: ShardContext,
    submit: (sealed: SealedItems, held: Held) => void,
    commitProgress: () => void,
  ) {
    this.#shard = shard;
    this.#taker = new PieceTaker(shard, submit);
    this.#commitProgress = commitProgress;
    for (const state of shard.state.partitions.values())
      this.#expected.set(state.partition, state.position);
  }

  /** Goes on after a rejoin, at the newest record that was read: a topic that was created again meanwhile has another one there. */
  rejoined(): void {
    for (const [partition, state] of this.#shard.state.partitions) {
      const seen = state.expectAgain();
      if (seen !== undefined)
        this.#expected.set(partition, Math.min(seen, this.#expected.get(partition) as number));
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
    this.#taker.stop();
    for (const end of this.#spanWaits.values()) end();
    this.#spanWaits.clear();
  }

  fetched(batch: FetchedBatch): void {
    const expected = this.#expected.get(batch.partition);
    if (expected === undefined) return;
    this.#ends.fetched(batch.partition, batch.endOffset, this.#shard.context.clock.monotonic());
    if (
      batch.nextOffset === batch.fetchOffset &&
      (batch.fetchOffset > expected || batch.endOffset < batch.fetchOffset)
    ) {
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
    return [...this.#expected.keys()].filter(
      (partition) => !this.#ends.isHeardSince(partition, atMs),
    );
  }

  endsAnswered(ends: ReadonlyMap<number, number>): void {
    const nowMs = this.#shard.context.clock.monotonic();
    for (const partition of this.#expected.keys()) {
      const end = ends.get(partition);
      if (end !== undefined) this.#ends.answered(partition, end, nowMs);
    }
  }

  get oldestEventMs(): number {
    return this.#taker.oldestEventMs;
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
        if (range !== undefined && expected > range.end)
          throw sourceRecreated(context.options, partition, expected);
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
        if (!this.#hasInbox(batch.partition) && this.#overtaken.delete(batch.partition))
          this.#checkRange(batch.partition);
        this.#flow();
      }
    } finally {
      this.#draining = false;
    }
  }

  /** Records taken before those that cannot be decoded yet are passed when the batch is read again. */
  async #takeAll(batch: FetchedBatch): Promise<void> {
    // Twice as patient each time, as in readToDecode.
    for (let patienceMs = PATIENCE_MS; ; patienceMs *= 2) {
      try {
        await this.#takePieces(batch, patienceMs);
        return await this.#publishDue();
      } catch (error) {
        if (!(error instanceof Unprepared)) throw error;
        await this.#publishDue();
        await error.ready;
      }
    }
  }

  /**
   * Piece by piece: what is decoded and not yet taken is one piece, whatever the batch unpacks to.
   * @throws Unprepared when the memory of a piece is to be given back, until it can be decoded
   */
  async #takePieces(batch: FetchedBatch, patienceMs: number): Promise<void> {
    const { signal, context } = this.#shard;
    let admitted = false;
    const admit = async (bytes: number) => {
      await this.#publishDue();
      const release = await this.#admit(bytes);
      admitted = true;
      return release;
    };
    for await (const piece of batch.pieces(admit)) {
      signal.throwIfAborted();
      let prepared = 0;
      for (let rest: RecordPiece | undefined = piece; rest !== undefined; ) {
        if (++prepared > MAX_PREPARED)
          throw new NotPrepared('what was prepared for a record is gone again and again');
        await this.#shard.prepared(rest.records, patienceMs);
        signal.throwIfAborted();
        const taken: Taken = await this.#takeInTurn(batch.partition, rest, admitted);
        signal.throwIfAborted();
        if (taken.held !== undefined) this.#due.push(taken);
        // Records are valid until the next piece. Letters with coordinates alone share transactions with those of other pieces.
        if (taken.records.length > 0 || this.#due.length >= MAX_DUE || !context.budget.mayTake)
          await this.#publishDue();
        admitted = false;
        this.#flow();
        if (taken.rest?.records.length !== rest.records.length) prepared = 0;
        rest = taken.rest;
        if (rest !== undefined) await context.clock.sleep(0, signal);
      }
    }
    signal.throwIfAborted();
  }

  async #publishDue(): Promise<void> {
    const due = this.#due;
    this.#due = [];
    await deadLetterUndecodable(this.#shard, due);
    this.#shard.signal.throwIfAborted();
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

  /** @param admitted it had its turn before it was read */
  async #takeInTurn(partition: number, piece: RecordPiece, admitted: boolean): Promise<Taken> {
    const letNextIn = admitted ? undefined : await this.#turn();
    try {
      this.#shard.signal.throwIfAborted();
      return this.#taker.take(partition, piece);
    } finally {
      letNextIn?.();
    }
  }

  /** Pauses and resumes partitions as the inbox, the memory and the span allow; called whenever one of them moved. */
  #flow(): void {
    const { context, state, signal } = this.#shard;
    if (signal.aborted) return;
    // One that holds nothing fetches all the same: only with a batch in hand is it in line for room.
    const full = this.#waitingForTurn || this.#inboxBytes > MAX_INBOX_BYTES;
    for (const [partition] of this.#expected) {
      const wide = state.underWay(partition) > context.options.source.maxInFlight;
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
      this.#spanWaits.set(
        partition,
        this.#shard.context.waits.begin('span', `partition ${partition}`),
      );
    } else if (!wide && end !== undefined) {
      end();
      this.#spanWaits.delete(partition);
    }
  }
}

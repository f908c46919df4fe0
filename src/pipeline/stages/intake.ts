/**
 * Inbox of a shard: holds fetched batches until they are taken, piece by piece, keeps the position
 * of each partition, and pauses partitions that have no room.
 */
import { NotPrepared } from '../../core/outcome/internal-error.ts';
import type { FetchedBatch, RecordPiece } from '../../core/ports/kafka.ts';
import type { Lease } from '../../core/ports/memory.ts';
import type { SourceCoordinate } from '../../core/record.ts';
import { Unprepared } from '../context/errors.ts';
import type { ShardContext } from '../context/shard-context.ts';
import { type Backlog, earliest } from '../limits/in-flight.ts';
import type { UndecodableRecords } from '../publish/terminal-writer.ts';
import { PATIENCE_MS, rangesBehind, skipRemoved, sourceRecreated } from '../source/reread.ts';
import { PieceTaker, type Taken } from './piece-taker.ts';
import type { ShardStages } from './shard-stages.ts';

/** Fetched bytes of a shard that were not taken yet, beyond which its partitions pause. */
const MAX_INBOX_BYTES = 256 * 1024;
/** Pieces whose dead letters go out together. */
const MAX_DUE = 1_000;
/** Memory of the rows that a piece becomes, approximately. */
const PIECE_BYTES = 256 * 1024;
/** Preparations of a record that may be gone before it is decoded, while intake awaits memory. */
const MAX_PREPARED = 10;

export class Intake {
  readonly #shard: ShardContext;
  readonly #stages: ShardStages;
  readonly #taker: PieceTaker;
  readonly #inbox: FetchedBatch[] = [];
  #inboxBytes = 0;
  readonly #drain: () => void;
  /** The partition whose records are being taken. */
  #taking: number | undefined;
  #waitsForMemory = false;
  /** Pieces whose dead letters are not published yet. */
  #due: UndecodableRecords[] = [];
  /** Start of the next fetched batch, by partition: the state's position plus the inbox. */
  readonly #expected = new Map<number, number>();
  readonly #paused = new Set<number>();
  /** Partitions whose range is being queried. */
  readonly #checking = new Set<number>();
  /** Partitions whose log begins behind the position: checked once their inbox is empty. */
  readonly #overtaken = new Set<number>();
  /** Functions that end the waits of partitions with too many unsettled records. */
  readonly #fullWaits = new Map<number, () => void>();

  constructor(shard: ShardContext, stages: ShardStages) {
    this.#shard = shard;
    this.#stages = stages;
    this.#taker = new PieceTaker(shard, stages);
    const hasWork = () => this.#inbox.length > 0;
    this.#drain = shard.repeating('intake', hasWork, () => this.#takeFirst());
    for (const { partition, position } of shard.state.partitions.values())
      this.#expected.set(partition, position);
  }

  /** Resumes after a rejoin at the newest record read: it differs if the topic was created again. */
  rejoined(): void {
    for (const [partition, state] of this.#shard.state.partitions) {
      const seen = state.expectAgain();
      const expected = this.#expected.get(partition) as number;
      if (seen !== undefined) this.#expected.set(partition, Math.min(seen, expected));
    }
    this.resume();
  }

  /** Starts to read: every partition is paused, and no position is set. */
  resume(): void {
    this.#paused.clear();
    for (const [partition, offset] of this.#expected) {
      this.#shard.group.seek('source', partition, offset);
      this.#paused.add(partition);
    }
    this.flow();
  }

  /** Takes nothing more; the next owner reads the buffered records again. */
  stop(): void {
    for (const partition of this.#expected.keys()) this.#shard.group.pause('source', partition);
    this.#taker.stop();
    for (const end of this.#fullWaits.values()) end();
    this.#fullWaits.clear();
  }

  /** Seals the buffers of a pipeline that is drained: nothing will be added to them. */
  sealToDrain(): void {
    if (this.#shard.control.state === 'draining') this.#taker.sealAll();
  }

  fetched(batch: FetchedBatch): void {
    const { partition, fetchOffset, nextOffset, endOffset } = batch;
    const { ends, group } = this.#shard;
    const expected = this.#expected.get(partition);
    if (expected === undefined) return;
    ends.fetched(partition, endOffset);
    if (nextOffset === fetchOffset && (fetchOffset > expected || endOffset < fetchOffset)) {
      this.#checkRange(partition);
    } else if (fetchOffset !== expected) {
      // In flight when the position was moved: its records were read already, or come again.
      group.seek('source', partition, expected);
    } else {
      this.#expected.set(partition, nextOffset);
      this.#inbox.push(batch);
      this.#inboxBytes += batch.bytes;
      this.flow();
      this.#drain();
    }
  }

  /** Records between the positions and the ends of the shard's partitions. */
  get lag(): number {
    let lag = 0;
    for (const { partition, position } of this.#shard.state.partitions.values())
      lag += Math.max(0, (this.#shard.ends.of(partition) ?? position) - position);
    return lag;
  }

  /** Time at which the ends of all partitions were last known, monotonic, ms. */
  get endsHeardMs(): number {
    const { ends, state } = this.#shard;
    return earliest([...state.partitions.keys()].map((partition) => ends.heardMs(partition)));
  }

  /** Position of the records that are being taken. */
  get taking(): SourceCoordinate | undefined {
    if (this.#taking === undefined) return undefined;
    const { position } = this.#shard.state.partition(this.#taking);
    return { partition: this.#taking, offset: position };
  }

  /** Buffered items. */
  get backlog(): Backlog[] {
    return this.#taker.backlog;
  }

  /** Queries the range of a partition whose position seems to be outside the log. */
  #checkRange(partition: number): void {
    if (this.#checking.has(partition)) return;
    this.#checking.add(partition);
    this.#shard.spawn('range', async () => {
      try {
        const { group, logger, options, signal, state } = this.#shard;
        const expected = () => this.#expected.get(partition) as number;
        const read = new Map([[partition, expected()]]);
        const asked = rangesBehind(this.#shard, read, signal);
        const range = (await this.#shard.waits.during('kafka', asked)).get(partition);
        signal.throwIfAborted();
        if (range !== undefined && expected() > range.end)
          throw sourceRecreated(options, partition, expected());
        if (range !== undefined && expected() < range.start) {
          if (this.#hasInbox(partition)) {
            this.#overtaken.add(partition);
            this.flow();
            return;
          }
          const own = state.partition(partition);
          if (own.position < range.start) skipRemoved(this.#shard, logger, own, range.start);
          this.#expected.set(partition, range.start);
        }
        group.seek('source', partition, expected());
      } finally {
        this.#checking.delete(partition);
      }
    });
  }

  #hasInbox(partition: number): boolean {
    return this.#inbox.some((batch) => batch.partition === partition);
  }

  async #takeFirst(): Promise<void> {
    const batch = this.#inbox[0] as FetchedBatch;
    const { partition } = batch;
    this.#taking = partition;
    await this.#takeAll(batch);
    this.#taking = undefined;
    this.#inbox.shift();
    this.#inboxBytes -= batch.bytes;
    if (!this.#hasInbox(partition) && this.#overtaken.delete(partition))
      this.#checkRange(partition);
    this.flow();
  }

  /** Reads a batch again while records cannot be decoded yet; what was taken before is passed. */
  async #takeAll(batch: FetchedBatch): Promise<void> {
    // Twice the patience each time, as in readToDecode.
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
   * Takes piece by piece: however large the batch unpacks, one piece is decoded at a time.
   * @throws Unprepared: the memory of the piece is given back until it can be decoded
   */
  async #takePieces(batch: FetchedBatch, patienceMs: number): Promise<void> {
    const { budget, clock, signal } = this.#shard;
    let admitted = false;
    const admit = async (bytes: number) => {
      await this.#publishDue();
      const lease = await this.#admit(bytes);
      admitted = true;
      return lease;
    };
    for await (const piece of batch.pieces(admit)) {
      signal.throwIfAborted();
      let prepared = 0;
      for (let rest: RecordPiece | undefined = piece; rest !== undefined; ) {
        if (++prepared > MAX_PREPARED)
          throw new NotPrepared('the preparation of a record is gone repeatedly');
        await this.#shard.prepared(rest.records, patienceMs);
        signal.throwIfAborted();
        const taken: Taken = await this.#take(batch.partition, rest, admitted);
        signal.throwIfAborted();
        if (taken.inFlight !== undefined) this.#due.push(taken);
        // Records are valid until the next piece. Dead letters with coordinates alone share
        // transactions with those of other pieces.
        if (taken.records.length > 0 || this.#due.length >= MAX_DUE || !budget.mayTake)
          await this.#publishDue();
        admitted = false;
        this.flow();
        if (taken.rest?.records.length !== rest.records.length) prepared = 0;
        rest = taken.rest;
        if (rest !== undefined) await clock.sleep(0, signal);
      }
    }
    signal.throwIfAborted();
  }

  async #publishDue(): Promise<void> {
    const due = this.#due;
    this.#due = [];
    await this.#stages.writer.undecodable(due);
    this.#shard.signal.throwIfAborted();
  }

  /**
   * Reserves memory for a record larger than a piece. Room of intake comes first: work that waits
   * for that room would otherwise block the settling that makes it. @throws the signal's reason
   */
  async #admit(bytes: number): Promise<Lease> {
    const { budget, signal } = this.#shard;
    const room = await this.#room();
    room[Symbol.dispose]();
    return this.#shard.waits.during('memory', budget.reserve('work', bytes, signal));
  }

  /** Waits for room for the rows of a piece. @throws the signal's reason */
  async #room(): Promise<Lease> {
    const { budget, signal, waits } = this.#shard;
    if (budget.mayTake) return budget.lease('intake', PIECE_BYTES);
    this.#waitsForMemory = true;
    this.flow();
    try {
      const room = budget.reserve('intake', PIECE_BYTES, signal);
      return await waits.while('memory', room, 'intake');
    } finally {
      this.#waitsForMemory = false;
    }
  }

  /** @param admitted whether there was room before the piece was read */
  async #take(partition: number, piece: RecordPiece, admitted: boolean): Promise<Taken> {
    using _room = admitted ? undefined : await this.#room();
    const { control, signal } = this.#shard;
    signal.throwIfAborted();
    if (!control.takesIn) throw new Unprepared(control.takingIn());
    return this.#taker.take(partition, piece);
  }

  /**
   * Pauses and resumes partitions as the inbox, the memory and the unsettled records allow; called
   * whenever one of them changes.
   */
  flow(): void {
    const { control, group, options, signal, state } = this.#shard;
    if (signal.aborted) return;
    // A shard without a batch fetches all the same: it must have one to wait in line for room.
    const full = !control.takesIn || this.#waitsForMemory || this.#inboxBytes > MAX_INBOX_BYTES;
    for (const partition of this.#expected.keys()) {
      const many = state.unsettledIn(partition) > options.source.maxInFlight;
      this.#reportFull(partition, many);
      if (many && state.partition(partition).dirty) this.#stages.commitProgress();
      const pause = full || many || this.#overtaken.has(partition);
      if (pause === this.#paused.has(partition)) continue;
      if (pause) this.#paused.add(partition);
      else this.#paused.delete(partition);
      group[pause ? 'pause' : 'resume']('source', partition);
    }
  }

  #reportFull(partition: number, isFull: boolean): void {
    const end = this.#fullWaits.get(partition);
    if (isFull === (end !== undefined)) return;
    end?.();
    this.#fullWaits.delete(partition);
    if (!isFull) return;
    const { waits } = this.#shard;
    this.#fullWaits.set(partition, waits.begin('in_flight', `partition ${partition}`));
  }
}

/**
 * Inbox of a shard. Keeps fetched batches until they are taken, keeps the position of each
 * partition, and pauses partitions for which there is no room.
 */
import type { BatchRecords } from '../../core/journal/job.ts';
import type { UnreadRange } from '../../core/journal/partition-state.ts';
import type { FetchedBatch } from '../../core/ports/kafka.ts';
import type { SourceCoordinate } from '../../core/record.ts';
import type { ShardContext } from '../context/shard-context.ts';
import { earliest } from '../limits/in-flight.ts';
import type { Lane } from '../limits/lanes.ts';
import { rangesBehind, skipRemoved, sourceRecreated } from '../source/reread.ts';
import { Backlog } from './backlog.ts';
import { BatchTaker } from './batch-taker.ts';
import { OpenBatches } from './open-batches.ts';
import type { ShardStages } from './shard-stages.ts';

/** Maximum number of fetched bytes that have not been taken. Above it, the shard's partitions pause. */
const MAX_INBOX_BYTES = 256 * 1024;

/** A fetched batch that has not been taken yet, and the unread range that contains it. */
interface Fetched {
  readonly batch: FetchedBatch;
  readonly range: UnreadRange;
}

export class Intake {
  readonly #shard: ShardContext;
  readonly #stages: ShardStages;
  readonly #open: OpenBatches;
  readonly #taker: BatchTaker;
  readonly #backlog: Backlog;
  readonly #inbox: Fetched[] = [];
  readonly #drain: () => void;
  /** Start of the next batch to fetch in each partition, after the batches in the inbox. */
  readonly #expected = new Map<number, number>();
  readonly #paused = new Set<number>();
  /** Partitions whose position may be outside the log. They pause until their range is known. */
  readonly #outside = new Set<number>();
  /** Functions that end the reported waits of partitions with too many unsettled records. */
  readonly #fullWaits = new Map<number, () => void>();

  constructor(shard: ShardContext, stages: ShardStages) {
    this.#shard = shard;
    this.#stages = stages;
    this.#open = new OpenBatches(shard, stages);
    const taker = () => new BatchTaker(shard, stages, this.#open, () => this.flow());
    this.#taker = taker();
    this.#backlog = new Backlog(shard, taker, (partition) =>
      this.#open.deferrals.roomForMore(partition),
    );
    const hasWork = () => this.#inbox.length > 0;
    this.#drain = shard.repeating('intake', hasWork, () => this.#takeFirst());
    for (const { partition, position } of shard.state.partitions.values())
      this.#expected.set(partition, position);
  }

  /** Resumes after a rejoin. Reads the newest record again, in order to detect a topic that was created again. */
  rejoined(): void {
    for (const [partition, state] of this.#shard.state.partitions) {
      const seen = state.expectAgain();
      const expected = this.#expected.get(partition) as number;
      if (seen !== undefined) this.#expected.set(partition, Math.min(seen, expected));
    }
    this.resume();
  }

  /** Starts to read. All partitions must be paused and without positions. */
  resume(): void {
    this.#paused.clear();
    for (const [partition, offset] of this.#expected) {
      this.#shard.group.seek('source', partition, offset);
      this.#paused.add(partition);
    }
    this.flow();
  }

  /** Applies changed limits to the open batches, and to partitions that are paused or should be. */
  reloaded(): void {
    this.#open.schedule();
    this.flow();
  }

  /** Stops taking records. The next owner reads the buffered records again. */
  stop(): void {
    for (const partition of this.#expected.keys()) this.#shard.group.pause('source', partition);
    this.#open[Symbol.dispose]();
    for (const end of this.#fullWaits.values()) end();
    this.#fullWaits.clear();
  }

  /** Seals the open batches if the pipeline is being drained, because no more items will follow. */
  sealToDrain(): void {
    if (this.#shard.control.state === 'draining') this.#open.sealAll();
  }

  fetched(batch: FetchedBatch): void {
    const { partition, fetchOffset, nextOffset, endOffset } = batch;
    const { ends, group, lanes, options, state } = this.#shard;
    const expected = this.#expected.get(partition);
    if (expected === undefined) return;
    ends.fetched(partition, endOffset);
    const isOutside =
      nextOffset === fetchOffset && (fetchOffset > expected || endOffset < fetchOffset);
    if (isOutside) {
      if (this.#outside.has(partition)) return;
      this.#outside.add(partition);
      this.flow();
      if (!this.#hasInbox(partition)) this.#checkRange(partition);
    } else if (fetchOffset !== expected) {
      // The batch was in flight while the position was moved. Its records have been read, or will be read again.
      group.seek('source', partition, expected);
    } else {
      const own = state.partition(partition);
      this.#inbox.push({ batch, range: own.newest });
      this.#expected.set(partition, nextOffset);
      const unread = endOffset - Math.max(nextOffset, own.position);
      if (lanes.areSeveral && unread > options.leapOffsets) {
        // Leaps to shortly before the end of the partition, because the last records are new, too.
        const to = endOffset - Math.floor(options.leapOffsets / 4);
        this.#backlog.add(partition, own.leap(nextOffset, to));
        this.#expected.set(partition, to);
        group.seek('source', partition, to);
      }
      this.flow();
      this.#drain();
    }
  }

  /** Lag: the number of unread offsets up to the ends of the shard's partitions. */
  get lag(): number {
    let lag = 0;
    for (const { partition, position, unread } of this.#shard.state.partitions.values())
      lag += unread + Math.max(0, (this.#shard.ends.of(partition) ?? position) - position);
    return lag;
  }

  /** Time at which the ends of all partitions were last known (monotonic clock, ms). */
  get endsHeardMs(): number {
    const { ends, state } = this.#shard;
    return earliest([...state.partitions.keys()].map((partition) => ends.heardMs(partition)));
  }

  /** Position of the records that are being taken. undefined if the inbox is empty. */
  get taking(): SourceCoordinate | undefined {
    const [first] = this.#inbox;
    return first && { partition: first.batch.partition, offset: first.range.position };
  }

  /** Records of a lane that were taken and are not in a sealed batch. */
  recordsOf(lane: Lane): readonly BatchRecords[] {
    return this.#open.recordsOf(lane);
  }

  /** Queries the range of a partition. Moves a position that is outside the log into it. */
  #checkRange(partition: number): void {
    this.#shard.spawn('range', async () => {
      const { group, logger, options, signal, state, waits } = this.#shard;
      const expected = this.#expected.get(partition) as number;
      const asked = rangesBehind(this.#shard, new Map([[partition, expected]]), signal);
      const range = (await waits.during('kafka', asked)).get(partition);
      signal.throwIfAborted();
      if (range !== undefined && expected > range.end)
        throw sourceRecreated(options, partition, expected);
      // The check is repeated once the batches in the inbox, which are before the log's start, have been taken.
      if (this.#hasInbox(partition)) return;
      const own = state.partition(partition);
      const start = range?.start ?? 0;
      if (own.position < start) skipRemoved(this.#shard, logger, own, start);
      const next = Math.max(expected, start);
      this.#expected.set(partition, next);
      this.#outside.delete(partition);
      group.seek('source', partition, next);
      this.flow();
    });
  }

  #hasInbox(partition: number): boolean {
    return this.#inbox.some(({ batch }) => batch.partition === partition);
  }

  async #takeFirst(): Promise<void> {
    const { batch, range } = this.#inbox[0] as Fetched;
    await this.#taker.take(batch, range);
    this.#inbox.shift();
    const { partition } = batch;
    if (this.#outside.has(partition) && !this.#hasInbox(partition)) this.#checkRange(partition);
    this.flow();
  }

  /**
   * Pauses and resumes partitions according to inbox, memory, unsettled records and commands. Must
   * be called whenever one of these changes.
   */
  flow(): void {
    const { control, group, lanes, options, quota, signal, state } = this.#shard;
    if (signal.aborted) return;
    // An empty inbox does not pause the shard, because only a shard with a batch can queue for memory.
    const inboxBytes = this.#inbox.reduce((sum, { batch }) => sum + batch.bytes, 0);
    // With lanes, intake continues, because urgent records may follow others that wait for the quota.
    const isUsedUp = quota?.isWaiting === true && !lanes.areSeveral;
    const full =
      !control.takesIn || isUsedUp || this.#taker.waitsForRoom || inboxBytes > MAX_INBOX_BYTES;
    for (const partition of this.#expected.keys()) {
      const { dirty, scatteredBytes } = state.partition(partition);
      const many =
        state.unsettledIn(partition) > options.source.maxInFlight ||
        scatteredBytes > options.maxOffsetBytes;
      this.#reportFull(partition, many);
      if (many && dirty) this.#stages.commitProgress();
      const pause = full || many || this.#outside.has(partition);
      if (pause === this.#paused.has(partition)) continue;
      if (pause) this.#paused.add(partition);
      else this.#paused.delete(partition);
      group[pause ? 'pause' : 'resume']('source', partition);
    }
    this.#open.deferrals.look();
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

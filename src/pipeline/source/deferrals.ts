/**
 * Records that intake defers because their lane has no room left. Only their coordinates are
 * kept. Their batches are reread from the source once the lane has room, one at a time for each
 * type in a lane. Meanwhile intake continues with the records of other lanes.
 */
import { abortable } from '../../../packages/client/src/base/abortable.ts';
import { type BatchLimits, OFFSET_CHECK_EVERY } from '../../core/batch-buffer.ts';
import { BatchRecords } from '../../core/journal/job.ts';
import type { Lease } from '../../core/ports/memory.ts';
import type { ContentItem } from '../../core/record.ts';
import type { ShardContext } from '../context/shard-context.ts';
import type { BatchPlan } from '../context/submission.ts';
import { Conditions } from '../limits/conditions.ts';
import { DEFAULT_LANE, type Lane } from '../limits/lanes.ts';

/** Bytes of memory of a batch in addition to its coordinates. */
const OBJECT_BYTES = 1280;

/** Deferred records that will form one batch. */
interface Deferred {
  readonly records: BatchRecords;
  /** Sum of the items' bytes. */
  bytes: number;
}

interface Queue {
  readonly lane: Lane;
  readonly type: string;
  /** Batches of the queue. The last one is still open. */
  readonly deferred: Deferred[];
  readonly start: () => void;
}

export class Deferrals implements Disposable {
  readonly #shard: ShardContext;
  readonly #limitsOf: (type: string) => BatchLimits;
  readonly #reread: (plan: BatchPlan, records: BatchRecords) => Promise<void>;
  /** Memory budget for the coordinates of deferred records. */
  readonly #coordinates: Lease;
  readonly #queues = new Map<Lane, Map<string, Queue>>();
  readonly #room = new Conditions();

  /** @param reread submits a batch after rereading its records; resolves once they are in memory */
  constructor(
    shard: ShardContext,
    limitsOf: (type: string) => BatchLimits,
    reread: (plan: BatchPlan, records: BatchRecords) => Promise<void>,
  ) {
    this.#shard = shard;
    this.#limitsOf = limitsOf;
    this.#reread = reread;
    const { budget } = shard;
    this.#coordinates = budget.lease('intake', 0, undefined, budget.coordinates);
  }

  /** Returns true if an item must be deferred. A later item of a type never overtakes an earlier one. */
  defers(lane: Lane, { type, partition }: ContentItem): boolean {
    const { budget, lanes, quota } = this.#shard;
    if (!lanes.areSeveral) return false;
    if (this.#hasDeferred(lane, type) || !budget.hasRoomFor(lane)) return true;
    return !this.#mayFly(lane, [partition]) || quota?.hasRoomFor(lane) === false;
  }

  /**
   * Resolves when more of a partition's backlog may be read. Few coordinates must be in memory, so
   * that intake has memory for the newest records, and few of the partition's records may be
   * unsettled.
   * @throws the signal's reason
   */
  roomForMore(partition: number): Promise<void> {
    const { budget, options, signal, state } = this.#shard;
    const { coordinates, totalBytes } = budget;
    const own = state.partition(partition);
    return this.#room.until(
      () =>
        // A shard that keeps no coordinates continues, because other shards may keep theirs for
        // long.
        (this.#coordinates.bytes === 0 ||
          coordinates.heldBytes <= coordinates.share * totalBytes) &&
        state.unsettledIn(partition) <= options.source.maxInFlight &&
        // If no records are deferred, only further reading makes the progress record smaller.
        (own.deferred === 0 || own.scatteredBytes <= options.maxOffsetBytes),
      signal,
    );
  }

  /** Must be called when there may be more room. */
  look(): void {
    this.#room.look();
  }

  add(lane: Lane, item: ContentItem): void {
    const { maxBytes, maxOffsetBytes, maxRows } = this.#limitsOf(item.type);
    const queue = this.#queueOf(lane, item.type);
    let last = queue.deferred.at(-1);
    const isFull =
      last === undefined ||
      last.records.size >= maxRows ||
      last.bytes + item.bytes > maxBytes ||
      (last.records.size % OFFSET_CHECK_EVERY === 0 && last.records.encodedBytes > maxOffsetBytes);
    if (last === undefined || isFull) {
      last = { records: new BatchRecords(), bytes: 0 };
      this.#coordinates.resize(this.#coordinates.bytes + OBJECT_BYTES);
      queue.deferred.push(last);
    }
    const before = last.records.heldBytes;
    last.records.take(item);
    last.bytes += item.bytes;
    this.#coordinates.resize(this.#coordinates.bytes + last.records.heldBytes - before);
    this.#shard.inFlight.deferred++;
    this.#shard.state.partition(item.partition).deferred++;
    queue.start();
  }

  /** Returns the waiting batches of a lane. */
  of(lane: Lane): readonly BatchRecords[] {
    const queues = [...(this.#queues.get(lane)?.values() ?? [])];
    return queues.flatMap(({ deferred }) => deferred.map(({ records }) => records));
  }

  /** Releases the memory. The next owner reads the records again. */
  [Symbol.dispose](): void {
    this.#coordinates[Symbol.dispose]();
  }

  /**
   * Returns true if a lane may have more records of these partitions in flight: it is within its
   * share of half of `source.maxInFlight`, or half of that limit is free. The other half is for
   * records in live jobs above W, which count twice.
   */
  #mayFly(lane: Lane, partitions: readonly number[]): boolean {
    const { name, share } = lane;
    const { inFlight, options, state } = this.#shard;
    const { maxInFlight } = options.source;
    const live = state.unsettledOf(name === DEFAULT_LANE ? undefined : name);
    const own = live + inFlight.unassigned.recordsOf(lane);
    return (
      own <= ((share * maxInFlight) / 2) * state.partitions.size ||
      partitions.every((partition) => state.unsettledIn(partition) < maxInFlight / 2)
    );
  }

  #roomInFlight({ lane, deferred }: Queue): Promise<void> {
    const partitions = () => deferred[0]?.records.entries().map(([partition]) => partition) ?? [];
    return this.#room.until(() => this.#mayFly(lane, partitions()), this.#shard.signal);
  }

  #hasDeferred(lane: Lane, type: string): boolean {
    return (this.#queues.get(lane)?.get(type)?.deferred.length ?? 0) > 0;
  }

  #queueOf(lane: Lane, type: string): Queue {
    const byType = this.#queues.get(lane) ?? new Map<string, Queue>();
    this.#queues.set(lane, byType);
    let queue = byType.get(type);
    if (queue === undefined) {
      const deferred: Deferred[] = [];
      const hasWork = () => deferred.length > 0;
      const start = this.#shard.repeating('deferred', hasWork, () => this.#submitNext(made));
      const made: Queue = { lane, type, deferred, start };
      queue = made;
      byType.set(type, queue);
    }
    return queue;
  }

  async #submitNext(queue: Queue): Promise<void> {
    const { budget, inFlight, quota, signal, state } = this.#shard;
    const { lane, type, deferred } = queue;
    // Records may be added to the batch while it waits.
    await this.#roomInFlight(queue);
    await budget.roomFor(lane, signal);
    await quota?.roomFor(lane);
    signal.throwIfAborted();
    const { records, bytes } = deferred.shift() as Deferred;
    inFlight.deferred -= records.size;
    for (const [partition, offsets] of records.entries())
      state.partition(partition).deferred -= offsets.size;
    // From here on, the reread queue counts the memory of the coordinates.
    this.#coordinates.resize(this.#coordinates.bytes - records.heldBytes - OBJECT_BYTES);
    this.look();
    const plan = {
      ...{ lane, type, bytes, attempt: 1, depth: 0, spent: 1 },
      inFlight: inFlight.unassigned.add(records.size, records.oldestMs, lane),
    };
    await abortable(this.#reread(plan, records), signal);
  }
}

/** Open batches of a shard, which intake fills. Sealed batches go to the submitter. */
import { type BatchLimits, ItemBuffers } from '../../core/batch-buffer.ts';
import type { ItemBatch } from '../../core/item-batch.ts';
import type { BatchRecords } from '../../core/journal/job.ts';
import { internalPoison } from '../../core/outcome/internal-error.ts';
import type { ContentItem, Poison } from '../../core/record.ts';
import type { ShardContext } from '../context/shard-context.ts';
import { earliest } from '../limits/in-flight.ts';
import type { Lane } from '../limits/lanes.ts';
import { Deferrals } from '../source/deferrals.ts';
import type { ShardStages } from './shard-stages.ts';

export class OpenBatches implements Disposable {
  readonly #shard: ShardContext;
  readonly #stages: ShardStages;
  /** Open batches by lane. */
  readonly #buffers: ReadonlyMap<Lane, ItemBuffers>;
  /** Records that intake has deferred. */
  readonly deferrals: Deferrals;
  #cancelTimer: (() => void) | undefined;
  /**
   * True until the first batch, which is kept small, has been sealed. With a backlog, all shards
   * fill their first batch at the same time, when the code is not compiled yet. A full first batch
   * and its decisions would take many times longer than later ones.
   */
  #isFirst = true;

  constructor(shard: ShardContext, stages: ShardStages) {
    this.#shard = shard;
    this.#stages = stages;
    const { budget, lanes, options, state, typeLimit } = shard;
    typeLimit.recovered(state);
    const { firstBatchRows, maxOffsetBytes } = options;
    // Called for every item. A reload changes `options`.
    const limitsOf = (type: string): BatchLimits => {
      const { maxRows, maxBytes, maxAgeMs, types } = options.batch;
      const own = Object.hasOwn(types, type) ? types[type] : undefined;
      const usual = own?.maxRows ?? maxRows;
      const first = this.#isFirst ? firstBatchRows : usual;
      return {
        maxRows: Math.min(usual, shard.quota?.maxRows ?? usual, first),
        maxBytes: own?.maxBytes ?? maxBytes,
        maxAgeMs: own?.maxAgeMs ?? maxAgeMs,
        maxOffsetBytes,
      };
    };
    this.#buffers = new Map(
      lanes.all.map((lane) => [
        lane,
        new ItemBuffers(
          limitsOf,
          (type, seal) => shard.openBatch(type, budget.lease('intake', 0, seal, lane)),
          (sealed) => this.#submit(lane, sealed),
        ),
      ]),
    );
    this.deferrals = new Deferrals(shard, limitsOf, (plan, records) =>
      stages.submitDeferred(plan, records),
    );
  }

  /** Returns the records of a lane that are not in a sealed batch yet. */
  recordsOf(lane: Lane): readonly BatchRecords[] {
    const open = Array.from(this.#buffers.get(lane)?.batches ?? [], ({ records }) => records);
    return [...open, ...this.deferrals.of(lane)];
  }

  /**
   * Adds an item, whose age counts from `sinceMs`.
   * @returns the poison of an item whose type is rejected or whose row cannot be written
   */
  add(item: ContentItem, sinceMs: number): Poison | undefined {
    const { inFlight, lanes, typeLimit } = this.#shard;
    const lane = lanes.named(item.lane);
    const buffers = this.#buffers.get(lane) as ItemBuffers;
    if (!buffers.has(item.type)) {
      const refusal = typeLimit.refusal(item.type);
      if (refusal !== undefined) return refusal;
    }
    if (this.deferrals.defers(lane, item)) {
      // An unsealed batch would keep the lane's memory until it reaches its maximum age.
      buffers.sealLargest(lane.heldBytes / 2);
      this.deferrals.add(lane, item);
      return undefined;
    }
    inFlight.buffered++;
    try {
      buffers.add(item, sinceMs);
      return undefined;
    } catch (error) {
      inFlight.buffered--;
      return internalPoison(error);
    }
  }

  /** Sets the timer that seals batches by age. Must be called after items were added or limits changed. */
  schedule(): void {
    this.#cancelTimer?.();
    const dueMs = earliest(this.#all.map(({ nextDueMs }) => nextDueMs));
    if (dueMs === Infinity) return;
    const { clock } = this.#shard;
    this.#cancelTimer = clock.after(Math.max(0, dueMs - clock.monotonic()), () => {
      for (const buffers of this.#all) buffers.sealAged(clock.monotonic());
      this.schedule();
    });
  }

  sealAll(): void {
    for (const buffers of this.#all) buffers.sealAged(Infinity);
    this.schedule();
  }

  /** Discards the items. The next owner reads their records again. */
  [Symbol.dispose](): void {
    this.#cancelTimer?.();
    for (const buffers of this.#all) buffers[Symbol.dispose]();
    this.deferrals[Symbol.dispose]();
  }

  get #all(): readonly ItemBuffers[] {
    return [...this.#buffers.values()];
  }

  #submit(lane: Lane, batch: ItemBatch): void {
    const { inFlight } = this.#shard;
    const { type, bytes, length, records } = batch;
    this.#isFirst = false;
    inFlight.buffered -= length;
    this.#stages.submit({
      type,
      lane,
      bytes,
      batch,
      inFlight: inFlight.unassigned.add(length, records.oldestMs, lane),
      attempt: 1,
      depth: 0,
      spent: 1,
    });
  }
}

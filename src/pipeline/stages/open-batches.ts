/** Open batches of a shard, which intake fills. Sealed batches are submitted. */
import { ItemBuffers } from '../../core/batch-buffer.ts';
import type { ItemBatch } from '../../core/item-batch.ts';
import { internalPoison } from '../../core/outcome/internal-error.ts';
import type { ContentItem, Poison } from '../../core/record.ts';
import type { ShardContext } from '../context/shard-context.ts';
import { earliest } from '../limits/in-flight.ts';
import type { ShardStages } from './shard-stages.ts';

export class OpenBatches implements Disposable {
  readonly #shard: ShardContext;
  readonly #stages: ShardStages;
  readonly #buffers: ItemBuffers;
  #cancelTimer: (() => void) | undefined;
  /**
   * The first batch is small. With a backlog, all shards fill their first batch at the same time
   * and with code that is not compiled yet. A full batch would then take many times longer than
   * later ones, and so would its decisions.
   */
  #isFirst = true;

  constructor(shard: ShardContext, stages: ShardStages) {
    this.#shard = shard;
    this.#stages = stages;
    const { budget, options, state, typeLimit } = shard;
    typeLimit.recovered(state);
    const { batch, firstBatchRows, maxOffsetBytes } = options;
    const maxRows = () => (this.#isFirst ? Math.min(firstBatchRows, batch.maxRows) : batch.maxRows);
    const limits = {
      ...batch,
      maxOffsetBytes,
      get maxRows() {
        return maxRows();
      },
    };
    this.#buffers = new ItemBuffers(
      limits,
      (type, seal) => shard.openBatch(type, budget.lease('intake', 0, seal)),
      (sealed) => this.#submit(sealed),
    );
  }

  /** Timestamp of the oldest item, ms; Infinity if there is none. */
  get oldestEventMs(): number {
    return earliest(Array.from(this.#buffers.batches, ({ records }) => records.oldestMs));
  }

  /**
   * Adds an item, whose age counts from `sinceMs`.
   * @returns the poison of an item whose type is refused or whose row cannot be written
   */
  add(item: ContentItem, sinceMs: number): Poison | undefined {
    const { inFlight, typeLimit } = this.#shard;
    if (!this.#buffers.has(item.type)) {
      const refusal = typeLimit.refusal(item.type);
      if (refusal !== undefined) return refusal;
    }
    inFlight.buffered++;
    try {
      this.#buffers.add(item, sinceMs);
      return undefined;
    } catch (error) {
      inFlight.buffered--;
      return internalPoison(error);
    }
  }

  /** Sets the timer that seals batches by age. Called after items were added. */
  schedule(): void {
    this.#cancelTimer?.();
    const dueMs = this.#buffers.nextDueMs;
    if (dueMs === Infinity) return;
    const { clock } = this.#shard;
    this.#cancelTimer = clock.after(Math.max(0, dueMs - clock.monotonic()), () => {
      this.#buffers.sealAged(clock.monotonic());
      this.schedule();
    });
  }

  sealAll(): void {
    this.#buffers.sealAged(Infinity);
    this.schedule();
  }

  /** Discards the items. The next owner reads their records again. */
  [Symbol.dispose](): void {
    this.#cancelTimer?.();
    this.#buffers[Symbol.dispose]();
  }

  #submit(batch: ItemBatch): void {
    const { inFlight } = this.#shard;
    const { type, bytes, length, records } = batch;
    this.#isFirst = false;
    inFlight.buffered -= length;
    this.#stages.submit({
      type,
      bytes,
      batch,
      inFlight: inFlight.unassigned.add(length, records.oldestMs),
      attempt: 1,
      depth: 0,
      spent: 1,
    });
  }
}

/** Batches of a shard that intake fills; full, old and unwanted ones are submitted. */
import { type BatchLimits, ItemBuffers } from '../../core/batch-buffer.ts';
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
   * The first batch is small. With a backlog all shards fill theirs at the same time, with code that
   * is not compiled yet, so a full one would take many times as long as later, and so would its
   * decisions.
   */
  #isFirst = true;

  constructor(shard: ShardContext, stages: ShardStages) {
    this.#shard = shard;
    this.#stages = stages;
    const { budget, options, state, typeLimit } = shard;
    typeLimit.recovered(state);
    const { batch, firstBatchRows, maxOffsetBytes } = options;
    const maxRows = (usual: number) => (this.#isFirst ? Math.min(firstBatchRows, usual) : usual);
    const limitsWith = (own: Partial<typeof batch>): BatchLimits => {
      const limits = { ...batch, ...own };
      return {
        ...limits,
        maxOffsetBytes,
        get maxRows() {
          return maxRows(limits.maxRows);
        },
      };
    };
    const general = limitsWith({});
    const byType = new Map(
      Object.entries(batch.types).map(([type, own]) => [type, limitsWith(own)]),
    );
    this.#buffers = new ItemBuffers(
      (type) => byType.get(type) ?? general,
      (type, seal) => shard.openBatch(type, budget.lease('intake', 0, seal)),
      (sealed) => this.#submit(sealed),
    );
  }

  /** Timestamp of the oldest item, ms; Infinity for none. */
  get oldestEventMs(): number {
    return earliest(Array.from(this.#buffers.batches, ({ records }) => records.oldestMs));
  }

  /**
   * Adds an item, whose age counts from `sinceMs`.
   * @returns the poison of an item that is refused, or whose row cannot be written
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

  /** Seals batches by the clock, also when no record comes; called after items were added. */
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

  /** Discards the items: the next owner reads their records again. */
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

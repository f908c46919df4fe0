/** A batch on its way to the service, before it is a job. */
import type { ItemBatch } from '../../core/batch/item-batch.ts';
import type { LiveJob } from '../../core/journal/job.ts';
import type { Held } from '../limits/in-flight.ts';
import type { BatchMemory } from '../limits/memory-budget.ts';
import type { GatePass } from '../limits/type-breakers.ts';
import type { Place } from '../publish/output-order.ts';

/** Fields of a batch that stay while it is held back. */
export interface BatchPlan {
  readonly type: string;
  /** Of the items. */
  readonly bytes: number;
  /** The job that these items leave, for another attempt; undefined for a first submission. */
  readonly from?: LiveJob | undefined;
  /** What holds the items of a first submission until they are in a job. */
  readonly held?: Held | undefined;
  readonly attempt: number;
  readonly depth: number;
  readonly spent: number;
  /** Among the first submissions of its type; taken when it was sealed. */
  place?: Place;
}

export interface Submission extends BatchPlan {
  readonly batch: ItemBatch;
  /** What the gate of the type gave to items that were read again: they wait there before they are read. */
  readonly pass?: GatePass;
  readonly memory: BatchMemory;
}

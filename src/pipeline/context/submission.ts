/** A batch on its way to the service, before it is in a job. */
import type { ItemBatch } from '../../core/item-batch.ts';
import type { LiveJob } from '../../core/journal/job.ts';
import type { InFlightRecords } from '../limits/in-flight.ts';
import type { Lane } from '../limits/lanes.ts';
import type { Permit } from '../limits/type-breakers.ts';

/** Fields of a batch that stay while it is parked. */
export interface BatchPlan {
  readonly lane: Lane;
  readonly type: string;
  /** Bytes of the items. */
  readonly bytes: number;
  /** The job that these items leave for another attempt; undefined for a first submission. */
  readonly from?: LiveJob | undefined;
  /** The items of a first submission as records in flight, until they are in a job. */
  readonly inFlight?: InFlightRecords | undefined;
  readonly attempt: number;
  readonly depth: number;
  readonly spent: number;
}

export interface Submission extends BatchPlan {
  readonly batch: ItemBatch;
  /** Permit of the type's breaker, for items that were read again: they waited for it first. */
  readonly permit?: Permit;
}

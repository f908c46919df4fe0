/** A batch to submit. It is not in a job yet. */
import type { ItemBatch } from '../../core/item-batch.ts';
import type { LiveJob } from '../../core/journal/job.ts';
import type { InFlightRecords } from '../limits/in-flight.ts';
import type { Lane } from '../limits/lanes.ts';
import type { Permit } from '../limits/type-breakers.ts';

/** Properties of a batch that are kept while it is parked. */
export interface BatchPlan {
  readonly lane: Lane;
  readonly type: string;
  /** Total size of the items in bytes. */
  readonly bytes: number;
  /** Job that the items leave for another attempt. undefined for a first submission. */
  readonly from?: LiveJob | undefined;
  /** For a first submission: its group of records in flight, until they are in a job. */
  readonly inFlight?: InFlightRecords | undefined;
  readonly attempt: number;
  readonly depth: number;
  readonly spent: number;
}

export interface Submission extends BatchPlan {
  readonly batch: ItemBatch;
  /** Permit of the type's circuit breaker. Present if the items were reread, because rereading waits for a permit. */
  readonly permit?: Permit;
}

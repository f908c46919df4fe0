/**
 * Parked batch: one whose type is blocked keeps its coordinates and no content, so that other types
 * go on, and is read from the source again once the breaker of its type gives a permit. W stays in
 * front of it; `source.maxInFlight` bounds how far the partition goes on.
 */
import type { BatchRecords } from '../../core/journal/batch-records.ts';
import type { BatchPlan, Submission } from '../context/submission.ts';
import { memoryOfItems } from '../limits/memory-budget.ts';
import { writtenBetween } from './reread.ts';
import type { RereadRequest } from './reread-queue.ts';

/** Memory of a parked batch beside its coordinates, bytes. */
const OBJECT_BYTES = 1024;

/**
 * @param plan plan of the batch, whose rows the caller discards
 * @param submit takes the batch with its items again
 */
export function parkedBatch(
  { type, bytes, from, inFlight, attempt, depth, spent }: BatchPlan,
  records: BatchRecords,
  submit: (submission: Submission) => void,
): RereadRequest {
  // The members of the plan alone: a submission has rows and memory as well.
  const plan = { type, bytes, from, inFlight, attempt, depth, spent };
  return {
    ...{ type, records, from, inFlight },
    written: writtenBetween(from ?? records),
    bytes: memoryOfItems(records.size, 2 * bytes),
    submits: true,
    // Records of a job cost little.
    heldBytes: from === undefined ? OBJECT_BYTES + records.heldBytes : 0,
    found: async (items, permit, batchOf) => {
      const batch = await batchOf(items);
      if (batch !== undefined) submit({ ...plan, permit, batch });
    },
  };
}

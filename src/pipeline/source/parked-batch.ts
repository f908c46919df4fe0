/**
 * Parked batch: one whose type is blocked keeps its coordinates and no content, so that other types
 * go on, and is read from the source again once the breaker of its type gives a permit. W stays in
 * front of it; `source.maxInFlight` bounds how far the partition goes on.
 */
import type { BatchRecords } from '../../core/journal/batch-records.ts';
import type { ShardLife, SourceAccess } from '../context/shard-context.ts';
import type { BatchPlan, Submission } from '../context/submission.ts';
import { memoryOfItems } from '../limits/memory-budget.ts';
import { writtenBetween } from './reread.ts';
import type { RereadRequest } from './reread-queue.ts';

/** Memory of a parked batch beside its coordinates, bytes. */
const OBJECT_BYTES = 1024;

/**
 * @param plan plan of the batch, whose rows the caller discards
 * @param submit takes the batch with its items again
 * @throws the reason of the shard's end
 */
export function parkedBatch(
  shard: Pick<ShardLife & SourceAccess, 'signal' | 'budget'>,
  { type, bytes, from, inFlight, attempt, depth, spent }: BatchPlan,
  records: BatchRecords,
  submit: (submission: Submission) => void,
): RereadRequest {
  // The members of the plan alone: a submission has rows and memory as well.
  const plan = { type, bytes, from, inFlight, attempt, depth, spent };
  const { signal } = shard;
  signal.throwIfAborted();
  // In the share of intake, which stops when it is full of coordinates. Those of a job cost little.
  const heldBytes = from === undefined ? OBJECT_BYTES + records.heldBytes : 0;
  const lease = shard.budget.lease('intake', heldBytes);
  const end = () => lease[Symbol.dispose]();
  signal.addEventListener('abort', end, { once: true });
  return {
    type,
    records: () => records,
    written: writtenBetween(from ?? records),
    bytes: memoryOfItems(records.size, 2 * bytes),
    from,
    inFlight,
    submits: true,
    found: async (items, permit, batchOf) => {
      signal.removeEventListener('abort', end);
      end();
      const batch = await batchOf(items);
      if (batch !== undefined) submit({ ...plan, permit, batch });
    },
  };
}

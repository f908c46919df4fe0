/**
 * A batch whose type waits keeps its coordinates and no content, so that other types go on: it is read from the source again
 * when the gate of its type lets it through. W stays in front of it, and `maxInFlight` bounds how far the partition goes on.
 */
import type { CoordinateList } from '../../core/offsets/coordinate-list.ts';
import type { ShardContext } from '../context/shard-context.ts';
import type { BatchPlan, Submission } from '../context/submission.ts';
import { BatchMemory, memoryOfItems } from '../limits/memory-budget.ts';
import type { Wanted } from './reread-queue.ts';

/** What a batch that is held back takes: its coordinates, and the objects around them. */
const heldBytes = (records: CoordinateList): number => 1024 + records.heldBytes;

/**
 * @param plan of the batch, whose rows the caller throws away
 * @param submit takes it again, with its items
 * @throws the reason of the shard's end
 */
export function parkedBatch(
  shard: ShardContext,
  plan: BatchPlan,
  records: CoordinateList,
  submit: (submission: Submission) => void,
): Wanted {
  const { type, bytes, from, held: holder, attempt, depth, spent, place } = plan;
  const { signal } = shard;
  signal.throwIfAborted();
  // In the share of intake, which goes no further when it is full of coordinates. Those of a job cost little beside the job.
  const held = new BatchMemory((change) => shard.context.budget.unseal(-change), 0);
  if (from === undefined) held.hold(heldBytes(records));
  const release = () => held.release();
  signal.addEventListener('abort', release, { once: true });
  return {
    type,
    records: () => records,
    bytes: memoryOfItems(records.length, 2 * bytes),
    from,
    held: holder,
    turn: async () => place?.turn(),
    submits: true,
    found: async (items, pass, batchOf) => {
      signal.removeEventListener('abort', release);
      release();
      const made = await batchOf(items);
      if (made === undefined) place?.leave();
      else
        submit({
          type,
          bytes,
          from,
          held: holder,
          attempt,
          depth,
          spent,
          ...(place && { place }),
          pass,
          ...made,
        });
    },
  };
}

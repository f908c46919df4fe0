/** Beginning of a batch, in intake and in a rewind. */
import { ItemBatch } from '../../core/batch/item-batch.ts';
import type { LiveJob } from '../../core/journal/job.ts';
import { batchLinks } from './batch-span.ts';
import type { ShardContext } from './shard-context.ts';

/** Begins a batch, whose rows go into buffers of the process. @param from the job that its items leave, if any */
export function openBatch(shard: ShardContext, type: string, from?: LiveJob): ItemBatch {
  const { kind, budget } = shard.context;
  return new ItemBatch(type, kind.rows(budget.pool), batchLinks(shard, from));
}

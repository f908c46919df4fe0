/** Dead letters, by choice, for the records of a batch whose content type the service refuses (core/failure-table.ts). */
import type { ClaimedCoordinate, CoordinateList } from '../core/coordinate-list.ts';
import { deadLetter, deadLetterOf } from '../core/dead-letter.ts';
import type { LiveJob } from '../core/job.ts';
import type { Poison, SourceCoordinate, SourceRecord } from '../core/record.ts';
import type { ShardRuntime } from './shard-runtime.ts';

const POISON: Poison = { reason: 'rejected_type', message: 'the service does not accept this content type' };

/**
 * Reads the records again, since a batch keeps only its body, and publishes them as they came. Records that are gone from the
 * source end with their coordinates. Resolves when each has its dead letter.
 * @throws what ends the shard
 */
export async function deadLetterRejected(
  shard: ShardRuntime,
  batch: { readonly type: string; readonly from?: LiveJob },
  records: CoordinateList,
): Promise<void> {
  const { context, signal, inHand, logger } = shard;
  const { source } = context.options;
  logger.error(
    { type: batch.type, records: records.length },
    'the service refuses this content type; its records become dead letters',
  );
  if (batch.from === undefined) {
    inHand.sealed -= records.length;
    inHand.poison += records.length;
  }
  const wanted = Map.groupBy(records, ({ partition }) => partition);
  const ranges = await context.admin.ranges(source.topic, [...wanted.keys()]);
  for (const [partition, all] of wanted) {
    const left = new Map(all.map((one) => [one.offset, one]));
    const range = ranges.get(partition) ?? { start: 0, end: 0 };
    const from = all.reduce((least, { offset }) => Math.min(least, offset), Number.POSITIVE_INFINITY);
    const to = all.reduce((most, { offset }) => Math.max(most, offset), 0);
    const within = { partition, from: Math.max(from, range.start), to: Math.min(to, range.end - 1) };
    const found = async (read: readonly SourceRecord[]) => {
      const mine = read.filter(({ offset }) => left.has(offset));
      await publish(shard, batch.from, left, mine);
      for (const { offset } of mine) left.delete(offset);
    };
    if (within.from <= within.to) await context.reader.read(within, found, signal);
    await publish(shard, batch.from, left, [...left.values()]);
  }
}

async function publish(
  shard: ShardRuntime,
  from: LiveJob | undefined,
  known: ReadonlyMap<number, ClaimedCoordinate>,
  records: readonly (SourceRecord | SourceCoordinate)[],
): Promise<void> {
  const { context, chunk } = shard;
  const { source, deadLetters } = context.options;
  const letter = (one: SourceRecord | SourceCoordinate) => {
    const at = known.get(one.offset) as ClaimedCoordinate;
    const about = {
      topic: source.topic,
      stage: 'create',
      replay: at.replay,
      maxValueBytes: context.topics.maxDeadLetterBytes,
    } as const;
    const whole = 'value' in one && !chunk.isOversized(one);
    const { partition, offset, timestampMs } = at;
    return { partition, offset, timestampMs, record: whole ? deadLetter(one, POISON, about) : deadLetterOf(at, POISON, about) };
  };
  await chunk.inChunks(records, letter, async (letters) => {
    if (from === undefined) await shard.deadLetter(letters);
    else await shard.settle(from, deadLetters.topic, letters);
    context.ledger.deadLettered(POISON.reason, letters.length);
  });
}

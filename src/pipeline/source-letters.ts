/** Dead letters, by choice, for records that nothing more is tried for (core/failure-table.ts): read again, and passed on as they came. */
import type { ClaimedCoordinate, CoordinateList } from '../core/coordinate-list.ts';
import { type DeadLetterStage, deadLetter, deadLetterOf } from '../core/dead-letter.ts';
import type { LiveJob } from '../core/job.ts';
import type { Poison, SourceCoordinate, SourceRecord } from '../core/record.ts';
import type { ShardRuntime } from './shard-runtime.ts';

export interface SourceLetters {
  readonly records: CoordinateList;
  /** The job that the records leave; undefined while they are in none. */
  readonly from: LiveJob | undefined;
  readonly poison: Poison;
  readonly stage: DeadLetterStage;
}

/**
 * Publishes the records as dead letters, a chunk at a time. Those that are gone from the source end with their coordinates.
 * Resolves when each has its dead letter.
 * @throws what ends the shard
 */
export async function deadLetterFromSource(shard: ShardRuntime, letters: SourceLetters): Promise<void> {
  const { context, signal, inHand } = shard;
  const { source } = context.options;
  const { records } = letters;
  if (letters.from === undefined) {
    inHand.sealed -= records.length;
    inHand.poison += records.length;
  }
  const wanted = Map.groupBy(records, ({ partition }) => partition);
  const ranges = await shard.saysWhy('kafka', context.admin.ranges(source.topic, [...wanted.keys()]));
  for (const [partition, all] of wanted) {
    const left = new Map(all.map((one) => [one.offset, one]));
    const range = ranges.get(partition) ?? { start: 0, end: 0 };
    const from = all.reduce((least, { offset }) => Math.min(least, offset), Number.POSITIVE_INFINITY);
    const to = all.reduce((most, { offset }) => Math.max(most, offset), 0);
    const within = { partition, from: Math.max(from, range.start), to: Math.min(to, range.end - 1) };
    const found = async (read: readonly SourceRecord[]) => {
      const mine = read.filter(({ offset }) => left.has(offset));
      await publish(shard, letters, left, mine);
      for (const { offset } of mine) left.delete(offset);
    };
    if (within.from <= within.to) await shard.saysWhy('kafka', context.reader.read(within, found, signal));
    await publish(shard, letters, left, [...left.values()]);
  }
}

async function publish(
  shard: ShardRuntime,
  { from, poison, stage }: SourceLetters,
  known: ReadonlyMap<number, ClaimedCoordinate>,
  records: readonly (SourceRecord | SourceCoordinate)[],
): Promise<void> {
  const { context, chunk } = shard;
  const { source, deadLetters } = context.options;
  const letter = (one: SourceRecord | SourceCoordinate) => {
    const at = known.get(one.offset) as ClaimedCoordinate;
    const about = {
      topic: source.topic,
      stage,
      replay: at.replay,
      maxValueBytes: context.topics.maxDeadLetterBytes,
    };
    const whole = 'value' in one && !chunk.isOversized(one);
    const { partition, offset, timestampMs } = at;
    return { partition, offset, timestampMs, record: whole ? deadLetter(one, poison, about) : deadLetterOf(at, poison, about) };
  };
  await chunk.inChunks(records, letter, async (letters) => {
    if (from === undefined) await shard.deadLetter(letters);
    else await shard.settle(from, deadLetters.topic, letters);
    context.ledger.deadLettered(poison.reason, letters.length);
  });
}

/** Dead letters, by choice, for records that nothing more is tried for (core/failure-table.ts): read again, and passed on as they came. */
import type { ClaimedCoordinate, CoordinateList } from '../core/coordinate-list.ts';
import { type DeadLetterStage, deadLetter, deadLetterOf } from '../core/dead-letter.ts';
import { CoordinateSet, type LiveJob } from '../core/job.ts';
import type { Poison, SourceCoordinate, SourceRecord } from '../core/record.ts';
import type { ShardRuntime } from './shard-runtime.ts';
import { readAgain } from './source-log.ts';

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
  const { inHand } = shard;
  const { records } = letters;
  if (letters.from === undefined) {
    inHand.sealed -= records.length;
    inHand.poison += records.length;
  }
  const left = new Map([...records].map((one) => [placeOf(one), one]));
  await readAgain(shard, CoordinateSet.of(records), async (found) => {
    await publish(shard, letters, left, found);
    for (const one of found) left.delete(placeOf(one));
  });
  await publish(shard, letters, left, [...left.values()]);
}

const placeOf = ({ partition, offset }: SourceCoordinate): string => `${partition}:${offset}`;

async function publish(
  shard: ShardRuntime,
  { from, poison, stage }: SourceLetters,
  known: ReadonlyMap<string, ClaimedCoordinate>,
  records: readonly (SourceRecord | SourceCoordinate)[],
): Promise<void> {
  const { context, chunk } = shard;
  const { source, deadLetters } = context.options;
  const letter = (one: SourceRecord | SourceCoordinate) => {
    const at = known.get(placeOf(one)) as ClaimedCoordinate;
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

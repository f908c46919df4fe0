/** Source records that cannot be decoded: each ends as a dead letter, claimed in the same transaction (I2). */
import { type DeadLetterContext, deadLetter, deadLetterOf } from '../core/dead-letter.ts';
import type { Poison, SourceRecord } from '../core/record.ts';
import type { Held } from './in-hand.ts';
import type { ShardRuntime } from './shard-runtime.ts';

export interface Undecodable {
  readonly record: SourceRecord;
  readonly poison: Poison;
}

/** Publishes their dead letters, chunk by chunk. @throws TransactionError, or what ended the queue before. */
export async function deadLetterUndecodable(
  shard: ShardRuntime,
  records: readonly Undecodable[],
  held: Held | undefined,
): Promise<void> {
  const { context, state, chunk } = shard;
  const letter = ({ record, poison: why }: Undecodable) => {
    const { partition, offset, timestampMs } = record;
    const about: DeadLetterContext = {
      topic: context.options.source.topic,
      stage: 'decode',
      replay: state.partition(partition).replay,
      maxValueBytes: context.topics.maxDeadLetterBytes,
    };
    // Key and headers alone may be more than the topic takes: then the coordinates must do.
    const make = chunk.isOversized(record) ? deadLetterOf : deadLetter;
    return { partition, offset, timestampMs, held, reason: why.reason, record: make(record, why, about) };
  };
  await chunk.inChunks(records, letter, async (letters) => {
    await shard.deadLetter(letters);
    for (const { reason } of letters) context.ledger.deadLettered(reason, 1);
  });
}

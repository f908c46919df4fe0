/** Source records that cannot be decoded, or not even read: each ends as a dead letter, claimed in the same transaction (I2). */

import type { TakenRecord } from '../../core/journal/shard-state.ts';
import type { UnreadableRecords } from '../../core/ports/kafka.ts';
import type { Poison, SourceRecord } from '../../core/record.ts';
import type { ShardContext } from '../context/shard-context.ts';
import type { Held } from '../limits/in-flight.ts';
import { letterOf } from './dead-letters.ts';

export interface Undecodable {
  /** The record as it was read, or the place of one that cannot be read. */
  readonly record: SourceRecord | TakenRecord;
  readonly poison: Poison;
}

/** Offsets of one partition that cannot be read, and of which some may be claimed already. */
export interface UnreadableRange extends UnreadableRecords {
  readonly partition: number;
}

/** Records of a piece that cannot be decoded, and offsets that cannot be read. */
export interface UndecodableRecords {
  readonly records: readonly Undecodable[];
  readonly unreadable: UnreadableRange | undefined;
  readonly held: Held | undefined;
}

/**
 * Publishes their dead letters, chunk by chunk: of each piece first those of the records, then those of the unreadable range, of
 * which no more than a chunk is looked at at once.
 * @throws TransactionError, or what ended the queue before.
 */
export async function deadLetterUndecodable(
  shard: ShardContext,
  pieces: readonly UndecodableRecords[],
): Promise<void> {
  const { state, chunk } = shard;
  const letter = ({ record, poison, held }: Undecodable & Pick<UndecodableRecords, 'held'>) => {
    const { partition, offset, timestampMs } = record;
    const about = { stage: 'decode', replay: state.partition(partition).replay } as const;
    const { record: terminal, reason } = letterOf(shard, record, poison, about);
    const isOfBatch = 'isOfBatch' in record && record.isOfBatch === true;
    return {
      at: record,
      record: terminal,
      about: { partition, offset, timestampMs, isOfBatch, held, reason },
    };
  };
  await chunk.inChunks(allOf(shard, pieces), letter, (letters, ended) =>
    shard.deadLetter(letters, ended),
  );
}

function* allOf(
  { state }: ShardContext,
  pieces: readonly UndecodableRecords[],
): Generator<Undecodable & Pick<UndecodableRecords, 'held'>> {
  for (const { records, unreadable, held } of pieces) {
    for (const one of records) yield { ...one, held };
    if (unreadable === undefined) continue;
    const { partition, timestampMs, poison } = unreadable;
    const claims = state.partition(partition);
    const isOfBatch = poison.reason === 'unreadable_batch';
    for (let offset = unreadable.from; offset < unreadable.to; offset++) {
      if (!claims.isClaimed(offset))
        yield { record: { partition, offset, timestampMs, isOfBatch }, poison, held };
    }
  }
}

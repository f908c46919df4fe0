/** Dead letters as the engine writes them: whole where that is possible, with the record's coordinates alone where it is not. */

import { fits } from '../../core/bytes/batch-size.ts';
import { sizeOfRecord } from '../../core/bytes/record-bytes.ts';
import type { LiveJob } from '../../core/journal/job.ts';
import {
  type DeadLetterStage,
  deadLetter,
  deadLetterOf,
  type LetterContext,
} from '../../core/outcome/dead-letter.ts';
import { attempt } from '../../core/outcome/internal-error.ts';
import type {
  DeadLetterReason,
  OutgoingRecord,
  Poison,
  SourceCoordinate,
  SourceRecord,
} from '../../core/record.ts';
import type { ShardContext } from '../context/shard-context.ts';

export interface Letter {
  readonly record: OutgoingRecord;
  readonly reason: DeadLetterReason;
}

/** A record of a job that ends as a dead letter. */
export interface Due extends SourceCoordinate {
  readonly poison: Poison;
  /** As it was read; without it its coordinates must do. */
  readonly record?: SourceRecord | undefined;
}

/** Key and headers alone may be more than the topic takes: then the coordinates must do. So they must where the connector failed. */
export function mayBeWhole(
  { chunk }: ShardContext,
  at: SourceCoordinate,
  { reason }: Poison,
): boolean {
  return reason !== 'internal_error' && !chunk.isOversized(at.partition, at.offset);
}

/** @param one as it was read, or only where it is */
export function letterOf(
  shard: ShardContext,
  one: SourceRecord | SourceCoordinate,
  poison: Poison,
  { stage, replay }: { readonly stage: DeadLetterStage; readonly replay: number },
): Letter {
  const { context } = shard;
  const { topic } = context.options.source;
  const { partition, offset } = one;
  const about = { topic, stage, replay };
  let why = poison;
  if ('value' in one && mayBeWhole(shard, one, poison)) {
    const whole = attempt(() => wholeLetter(one, poison, about, context.topics.maxDeadLetterBytes));
    if ('poison' in whole) why = whole.poison;
    else if (whole.made !== undefined) return { record: whole.made, reason: poison.reason };
  }
  if (why.crash !== undefined)
    context.internal.report(stage, { topic, partition, offset }, why.crash);
  return { record: deadLetterOf({ partition, offset }, why, about), reason: why.reason };
}

/** Returns the letter with all that the topic takes of the record; undefined when key and headers alone are too much. */
function wholeLetter(
  record: SourceRecord,
  poison: Poison,
  about: LetterContext,
  maxMessageBytes: number,
): OutgoingRecord | undefined {
  for (const maxValueBytes of [Number.POSITIVE_INFINITY, 0]) {
    const letter = deadLetter(record, poison, { ...about, maxValueBytes });
    if (fits(sizeOfRecord(letter), maxMessageBytes)) return letter;
  }
  return undefined;
}

/** Ends records of a job as dead letters. */
export async function settleAsLetters(
  shard: ShardContext,
  job: LiveJob,
  due: readonly Due[],
  stage: DeadLetterStage,
): Promise<void> {
  const { context, chunk } = shard;
  await chunk.inChunks(
    due,
    ({ partition, offset, poison, record }) => {
      const at = { partition, offset };
      const letter = letterOf(shard, record ?? at, poison, {
        stage,
        replay: job.replayOf(partition),
      });
      return { at, record: letter.record, about: { reason: letter.reason } };
    },
    async (chunk, letters) => {
      await shard.settle(job, context.options.deadLetters.topic, chunk);
      context.ledger.deadLetters(letters);
    },
  );
}

/** Why a decision that the output topic does not take ends as a dead letter. */
export function tooLargeFor(outputTopic: string): Poison {
  return {
    reason: 'too_large',
    message: `the decision is larger than a record of topic ${outputTopic} may be: raise its max.message.bytes`,
  };
}

/** Rereads of the source topic: queries its ranges, checks that it was not created again, and reads its records. */
import type { BatchRecords, CoordinateSet, LiveJob } from '../../core/journal/job.ts';
import type { PartitionState, UnreadRange } from '../../core/journal/partition-state.ts';
import type { OffsetSet } from '../../core/offset-set.ts';
import {
  type PartitionRange,
  type RecordPiece,
  type UnreadableRecords,
  UnreadPartitionError,
} from '../../core/ports/kafka.ts';
import type { Logger } from '../../core/ports/telemetry.ts';
import type { Poison, SourceCoordinate, SourceRecord } from '../../core/record.ts';
import { RefusedError } from '../context/errors.ts';
import type { PipelineOptions } from '../context/options.ts';
import type { PipelineContext } from '../context/pipeline-context.ts';
import type { ShardContext } from '../context/shard-context.ts';

/** Distance between wanted offsets above which a new fetch is cheaper than reading the records in between. */
const LEAP_OFFSETS = 1_000;
/** Initial limit of the wait for the schema registry, after which memory is released. Doubles each time. */
export const PATIENCE_MS = 5_000;
/** Wait before an unreadable partition is tried again. */
const UNREAD_RETRY_MS = 10_000;

/**
 * Returns the ranges of the available partitions. If the end is below a position that was already
 * read, it is queried a second time, because a broker that has just become the leader may briefly
 * report an old end.
 * @param read minimum position up to which each partition was read
 */
export async function rangesBehind(
  { admin, options, clock }: Pick<PipelineContext, 'admin' | 'options' | 'clock'>,
  read: ReadonlyMap<number, number>,
  signal: AbortSignal,
): Promise<ReadonlyMap<number, PartitionRange>> {
  const ask = () => admin.ranges(options.source.topic, [...read.keys()]);
  const ranges = await ask();
  if ([...read].every(([partition, offset]) => offset <= (ranges.get(partition)?.end ?? offset)))
    return ranges;
  await clock.sleep(options.resetConfirmMs, signal);
  return ask();
}

/**
 * Returns the error for a source topic that has lost or replaced records.
 * @param end end of the partition, if it is below `offset`
 */
export function sourceRecreated(
  { source: { topic }, journal }: PipelineOptions,
  partition: number,
  offset: number,
  end?: number,
): RefusedError {
  const what =
    end === undefined
      ? `the record at offset ${offset} in partition ${partition} of source topic ${topic} is not the one that this pipeline has read there`
      : `source topic ${topic} ends at offset ${end} in partition ${partition}, but this pipeline has read up to ${offset}`;
  return new RefusedError(
    `${what}: the topic was deleted and created again, or lost its newest records. Give the pipeline a new journal topic and a new group to review the new topic; records in the old journal ${journal.topic} can no longer be retried.`,
  );
}

/**
 * Skips records that retention removed from the source topic before they were read.
 * @param range unread range that contains them. Default: the newest one
 */
export function skipRemoved(
  { metrics, options }: Pick<PipelineContext, 'metrics' | 'options'>,
  logger: Logger,
  state: PartitionState,
  logStart: number,
  range: UnreadRange = state.newest,
): void {
  const { partition } = state;
  const { position: from, end } = range;
  const to = Math.min(logStart, end);
  const lost = state.unassignedIn(from, to);
  metrics.count('unread_records_lost_total', { pipeline: options.name }, lost);
  logger.error(
    { partition, from, to, lost },
    'records were removed from the source topic before they were read',
  );
  state.passGap(from, to);
  state.advance(range, Math.max(to, state.watermark));
}

/** Timestamps of the oldest and the newest record of a set, in ms. */
export type WrittenBetween = readonly [oldestMs: number, newestMs: number];

/** Returns the range of timestamps in a job or batch. It serves to verify reread records. */
export function writtenBetween(of: LiveJob | BatchRecords): WrittenBetween {
  if (!('record' in of)) return [of.oldestMs, of.newestMs];
  return [of.record.oldestEventMs, of.record.newestEventMs];
}

/** @throws RefusedError if the record differs from the one read at this offset before */
export function assertSameLog(
  options: PipelineOptions,
  { partition, offset, timestampMs }: SourceRecord,
  [oldestMs, newestMs]: WrittenBetween,
): void {
  if (timestampMs < oldestMs || timestampMs > newestMs)
    throw sourceRecreated(options, partition, offset);
}

/** Record that can no longer be read or decoded. */
export interface FailedReread extends SourceCoordinate {
  readonly poison: Poison;
}

/** Receives wanted records. They are valid until the returned promise resolves. */
type FoundAgain = (
  records: readonly SourceRecord[],
  unreadable: readonly FailedReread[],
) => void | Promise<void>;

/**
 * Rereads records, partition by partition, and passes those that still exist to `found`. A record
 * counts as gone only if it is below the log's start, or missing in a range that was read
 * completely. A reported end may be old, so the reader waits for the end of the wanted range.
 * @throws UnreadPartitionError, or an error that ends the shard
 */
export async function readAgain(
  shard: ShardContext,
  wanted: CoordinateSet,
  found: FoundAgain,
): Promise<void> {
  const { admin, options, reader, signal } = shard;
  // Copies the offsets, because `found` may remove records from the set.
  const stretches = wanted
    .entries()
    .flatMap(([partition, offsets]) => stretchesOf(partition, offsets.clone()));
  const partitions = [...new Set(stretches.map(({ partition }) => partition))];
  const ranges = await shard.waits.during('kafka', admin.ranges(options.source.topic, partitions));
  for (const { partition, from, to, offsets } of stretches) {
    const start = ranges.get(partition)?.start;
    if (start === undefined)
      throw new UnreadPartitionError(partition, `source partition ${partition} is unavailable`);
    if (to < start) continue;
    const mine = async ({ records, unreadable }: RecordPiece) => {
      await found(
        records.filter(({ offset }) => offsets.has(offset)),
        unreadable === undefined ? [] : unreadableOf(partition, unreadable, offsets),
      );
    };
    await shard.waits.during(
      'kafka',
      reader.read({ partition, from: Math.max(from, start), to }, mine, signal),
    );
  }
}

/** The records cannot be decoded until `ready` resolves. */
export class UnpreparedError extends Error {
  override readonly name = 'UnpreparedError';
  readonly ready: Promise<void>;

  constructor(ready: Promise<void>) {
    super('the records cannot be decoded yet');
    this.ready = ready;
  }
}

/** Resolves when a reread that failed with `error` may be retried. @throws any other error */
export async function untilReadable(
  { clock, logger, options, signal, waits }: ShardContext,
  error: unknown,
): Promise<void> {
  if (error instanceof UnpreparedError) return error.ready;
  if (!(error instanceof UnreadPartitionError)) throw error;
  const { partition, message } = error;
  logger.warn({ partition, error: message }, 'could not read records again; retrying');
  const end = waits.begin('kafka', `partition ${partition} of ${options.source.topic}`);
  await clock.sleep(UNREAD_RETRY_MS, signal).finally(end);
}

/** Returns the wanted records in an unreadable range. The range may have a million offsets. */
function unreadableOf(
  partition: number,
  { from, to, poison }: UnreadableRecords,
  wanted: OffsetSet,
): FailedReread[] {
  const found: FailedReread[] = [];
  for (
    let offset = wanted.firstFrom(from);
    offset !== undefined && offset < to;
    offset = wanted.firstFrom(offset + 1)
  )
    found.push({ partition, offset, poison });
  return found;
}

interface Stretch {
  readonly partition: number;
  readonly from: number;
  readonly to: number;
  readonly offsets: OffsetSet;
}

/**
 * Splits wanted offsets into stretches, because the remaining offsets of a job may be far apart.
 * Each stretch is read without a gap.
 */
function stretchesOf(partition: number, offsets: OffsetSet): Stretch[] {
  const stretches: Stretch[] = [];
  let from: number | undefined;
  let to = 0;
  for (const offset of offsets) {
    if (from !== undefined && offset - to > LEAP_OFFSETS) {
      stretches.push({ partition, from, to, offsets });
      from = undefined;
    }
    from ??= offset;
    to = offset;
  }
  if (from !== undefined) stretches.push({ partition, from, to, offsets });
  return stretches;
}

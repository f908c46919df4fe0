/**
 * Claim of a shard: reads `meta`, fences earlier owners, writes `owner`, reads the journal up to
 * that record, then reads the committed offsets. The protocol's model covers the order of these
 * steps (docs/internals/testing.md).
 */
import { type JournalMeta, writeMeta, writeOwner } from '../../core/journal/journal-records.ts';
import type { JournalState } from '../../core/journal/journal-view.ts';
import { PartitionState, resetProgress } from '../../core/journal/partition-state.ts';
import { isOwnCommit, ShardState } from '../../core/journal/shard-state.ts';
import { OffsetSet } from '../../core/offset-set.ts';
import type { CommittedOffset, PartitionRange, Transaction } from '../../core/ports/kafka.ts';
import { RefusedError, ShardLostError } from '../context/errors.ts';
import type { PipelineContext } from '../context/pipeline-context.ts';
import type { TransactionQueue } from '../context/transaction-queue.ts';
import { rangesBehind, skipRemoved, sourceRecreated } from '../source/reread.ts';
import { forgottenJournal } from './forgotten-journal.ts';
import type { JournalRecovery } from './journal-recovery.ts';

interface ClaimContext extends PipelineContext {
  readonly shard: number;
  readonly partitions: readonly number[];
  readonly recovery: JournalRecovery;
  readonly queue: TransactionQueue;
  readonly signal: AbortSignal;
}

/** Returns the record that a claim writes. An owner also writes it to confirm its ownership. */
export function ownerRecord(
  { clock, instance, random }: PipelineContext,
  claim = random.id(),
): Transaction {
  return { journal: [writeOwner({ instance, claim, atMs: clock.now() })] };
}

/**
 * Claims the shard and returns its state.
 * @throws RefusedError if this connector must not run on this journal or source; ShardLostError if
 * another instance has claimed the shard, or a new or reset partition is unavailable;
 * JournalFormatError if the journal is invalid; TransactionError
 */
export async function claimShard(context: ClaimContext): Promise<ShardState> {
  const { admin, clock, options, partitions, queue, recovery, shard, signal } = context;
  const startedMs = clock.monotonic();
  const journal = (await admin.ranges(options.journal.topic, [shard])).get(shard);
  if (journal === undefined)
    throw new ShardLostError(`partition ${shard} of ${options.journal.topic} is unavailable`);
  signal.throwIfAborted();

  recovery.start(journal.start);
  checkMeta(context, await recovery.meta(journal.end, signal));

  // The first commit of a new producer fences earlier ones, so no other producer can write for this
  // shard (I3).
  const claim = context.random.id();
  const barrier = await queue.run(() => ownerRecord(context, claim));
  const state = await recovery.upTo(barrier as number, claim, signal);
  // The first owner of a new journal may have written `meta` just before this claim fenced it.
  checkMeta(context, state.meta);
  if (clock.monotonic() - startedMs > context.topics.deleteRetentionMs / 2)
    throw new ShardLostError(
      'the recovery took so long that the journal may have dropped tombstones in the meantime',
    );

  const starts = await startPositions(context, state);
  const shardState = new ShardState(starts, state.jobs, state.seq, state.quota);
  const step = shardState.progressOnly();
  const { journal: progress = [], offsets = [] } = step ?? {};
  if (state.meta === undefined) {
    const meta = writeMeta(expectedMeta(context));
    await queue.run(() => ({ journal: [meta, ...progress], offsets }));
  } else if (step !== undefined) await queue.run(() => step);
  signal.throwIfAborted();
  // Runs after the commit, so that records that are read again do not count as progress.
  const ranges = await admin.ranges(options.source.topic, partitions);
  for (const partition of starts.values())
    partition.seekToLastAssigned(ranges.get(partition.partition)?.start ?? 0);
  return shardState;
}

const expectedMeta = ({ kind, options, topics }: ClaimContext): JournalMeta => ({
  group: options.source.group,
  source: options.source.topic,
  shards: topics.shards,
  kind: kind.name,
});

function checkMeta(context: ClaimContext, found: JournalMeta | undefined): void {
  if (found === undefined) return;
  for (const [field, expected] of Object.entries(expectedMeta(context))) {
    const value = found[field as keyof JournalMeta];
    if (value !== expected)
      throw new RefusedError(
        `the journal ${context.options.journal.topic} belongs to ${field} ${JSON.stringify(value)}, but this pipeline has ${JSON.stringify(expected)}. Restore the old setting, or give this pipeline a journal topic and a group of its own (docs/faq.md, "Changing things").`,
      );
  }
}

async function startPositions(
  context: ClaimContext,
  state: JournalState,
): Promise<Map<number, PartitionState>> {
  const { options, partitions, queue, shard, signal } = context;
  const committed = await confirmedOffsets(context);
  // Every transaction writes a partition's progress together with its committed offset, after `meta`.
  // An owner may have written progress without `meta` to a journal that was created again.
  const forgotten = partitions.filter(
    (partition) =>
      (state.meta === undefined || !state.progress.has(partition)) &&
      isOwnCommit(committed.get(partition)?.metadata ?? ''),
  );
  if (forgotten.length > 0) {
    // If a newer owner has committed these offsets since the journal was read, this commit fails,
    // and the shard is lost.
    await queue.run(() => ownerRecord(context));
    const lost = `has lost their records in partition ${shard}`;
    throw new RefusedError(forgottenJournal(options, forgotten, lost));
  }

  const read = partitions.map((partition) => {
    const { watermark = 0 } = state.progress.get(partition) ?? {};
    return [partition, Math.max(watermark, committed.get(partition)?.offset ?? 0)] as const;
  });
  const ranges = await rangesBehind(context, new Map(read), signal);
  const starts = new Map<number, PartitionState>();
  for (const partition of partitions) {
    const range = ranges.get(partition);
    const at = committed.get(partition);
    const progress = state.progress.get(partition);
    if (range !== undefined)
      starts.set(partition, startPosition(context, state, partition, range, at));
    else if (progress !== undefined && foreignOffset(at) === undefined)
      // Intake checks the position once the partition can be fetched.
      starts.set(partition, PartitionState.resume(partition, progress));
    else
      throw new ShardLostError(`partition ${partition} of ${options.source.topic} is unavailable`);
  }
  return starts;
}

/**
 * Returns the committed offsets. An offset that another tool seems to have committed is read twice.
 * Right after a claim, the group coordinator may still return the previous commit, which must not
 * count as a reset (model: stale-offset-taken-for-reset).
 */
async function confirmedOffsets({
  admin,
  clock,
  options,
  partitions,
  signal,
}: ClaimContext): Promise<ReadonlyMap<number, CommittedOffset>> {
  const { group, topic } = options.source;
  let before: string | undefined;
  for (;;) {
    const committed = await admin.committed(group, topic, partitions);
    const foreign = partitions.map((partition) => foreignOffset(committed.get(partition)));
    const now = foreign.join();
    if (foreign.every((offset) => offset === undefined) || now === before) return committed;
    before = now;
    await clock.sleep(options.resetConfirmMs, signal);
  }
}

/** Returns the offset if another tool has committed it, which resets the group. */
const foreignOffset = (at: CommittedOffset | undefined): number | undefined =>
  at === undefined || at.offset === null || isOwnCommit(at.metadata) ? undefined : at.offset;

function startPosition(
  context: ClaimContext,
  { jobs, meta, progress: all }: JournalState,
  partition: number,
  { start, end }: PartitionRange,
  committed: CommittedOffset | undefined,
): PartitionState {
  const { logger, metrics, options } = context;
  const reset = foreignOffset(committed);
  const within = (offset: number) => Math.min(Math.max(offset, start), end);
  const progress = all.get(partition);

  if (progress === undefined) {
    // An offset that was set by hand takes precedence. A partition that was added later starts at its beginning.
    const first = meta === undefined && options.source.startFrom === 'latest' ? end : start;
    const offset = within(reset ?? first);
    logger.info({ partition, offset, end }, 'reading source partition');
    return PartitionState.startAt(partition, offset, { inherited: reset !== undefined });
  }

  if (reset === undefined) {
    const { watermark } = progress;
    if (watermark > end) throw sourceRecreated(options, partition, watermark, end);
    const resumed = PartitionState.resume(partition, progress);
    if (watermark < start) skipRemoved(context, logger, resumed, start);
    return resumed;
  }

  const offset = within(reset);
  const live = new OffsetSet();
  for (const { left } of jobs.values())
    for (const one of left) if (one.partition === partition) live.add(one.offset);
  const { progress: next, skipped } = resetProgress(progress, offset, live);
  const about = { partition, offset, before: progress.watermark, skipped, replay: next.replay };
  logger.warn(about, 'consumer group offset was changed externally; resuming from it');
  if (skipped > 0)
    metrics.count('reset_skipped_records_total', { pipeline: options.name }, skipped);
  return PartitionState.begin(partition, next);
}

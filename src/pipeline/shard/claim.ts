/**
 * Claim of a shard: reads `meta`, fences, writes `owner`, reads the journal up to it, then the
 * committed offsets. The protocol's model covers the order of these steps (docs/protocol).
 */
import { type JournalMeta, writeMeta, writeOwner } from '../../core/journal/journal-records.ts';
import type { JournalState } from '../../core/journal/journal-view.ts';
import { PartitionState, resetProgress } from '../../core/journal/partition-state.ts';
import { isOwnCommit, ShardState } from '../../core/journal/shard-state.ts';
import { OffsetSet } from '../../core/offsets/offset-set.ts';
import type { CommittedOffset, PartitionRange, Transaction } from '../../core/ports/kafka.ts';
import type { Logger } from '../../core/ports/telemetry.ts';
import { RefusedError, ShardLostError } from '../context/errors.ts';
import type { PipelineContext } from '../context/pipeline-context.ts';
import type { TransactionQueue } from '../publish/transaction-queue.ts';
import { rangesBehind, skipRemoved } from '../source/reread.ts';
import { forgottenJournal } from './forgotten-journal.ts';
import type { JournalRecovery } from './journal-recovery.ts';

export interface ClaimRequest {
  readonly shard: number;
  readonly partitions: readonly number[];
  readonly recovery: JournalRecovery;
  readonly queue: TransactionQueue;
  readonly logger: Logger;
}

/** Owner record of a claim, and of the confirmation that an idle owner still owns its shard. */
export function ownerRecord(
  { clock, instance, random }: PipelineContext,
  claim = random.id(),
): Transaction {
  return { journal: [writeOwner({ instance, claim, atMs: clock.now() })] };
}

/**
 * @throws RefusedError if this connector must not run on this journal or source; ShardLostError if
 * another instance claimed meanwhile; JournalFormatError if the journal is broken; TransactionError
 */
export async function claimShard(
  context: PipelineContext,
  request: ClaimRequest,
  signal: AbortSignal,
): Promise<ShardState> {
  const { admin, options, clock } = context;
  const { shard, partitions, recovery, queue } = request;
  const startedMs = clock.monotonic();
  const journal = (await admin.ranges(options.journal.topic, [shard])).get(shard);
  if (journal === undefined)
    throw new RefusedError(`the journal ${options.journal.topic} has no partition ${shard}`);
  signal.throwIfAborted();

  recovery.start(journal.start);
  checkMeta(context, await recovery.meta(journal.end, signal));

  // The first commit of a new producer fences: no other can write for this shard from here on (I3).
  const claim = context.random.id();
  const barrier = await queue.run(() => ownerRecord(context, claim));
  const state = await recovery.upTo(barrier as number, claim, signal);
  recovery.stop();
  // The first owner of a new journal may have written it just before it was fenced.
  checkMeta(context, state.meta);
  if (clock.monotonic() - startedMs > context.topics.deleteRetentionMs / 2) {
    throw new ShardLostError(
      'the replay took so long that the journal may have forgotten deletions meanwhile',
    );
  }

  const starts = await startPositions(context, request, state, signal);
  const shardState = new ShardState(starts, state.jobs, state.seq);
  const step = shardState.progressOnly();
  const { journal: progress = [], offsets = [] } = step ?? {};
  if (state.meta === undefined) {
    const meta = writeMeta(expectedMeta(context));
    await queue.run(() => ({ journal: [meta, ...progress], offsets }));
  } else if (step !== undefined) await queue.run(() => step);
  signal.throwIfAborted();
  // Only now, so that the records read again do not look like progress.
  const ranges = await admin.ranges(options.source.topic, partitions);
  for (const partition of starts.values())
    partition.seekToLastAssigned(ranges.get(partition.partition)?.start ?? 0);
  return shardState;
}

function expectedMeta(context: PipelineContext): JournalMeta {
  const { options } = context;
  return {
    group: options.source.group,
    source: options.source.topic,
    shards: context.topics.shards,
    kind: context.kind.name,
  };
}

function checkMeta(context: PipelineContext, found: JournalMeta | undefined): void {
  if (found === undefined) return;
  const expected = expectedMeta(context);
  for (const field of ['group', 'source', 'shards', 'kind'] as const) {
    if (found[field] !== expected[field]) {
      throw new RefusedError(
        `the journal ${context.options.journal.topic} belongs to ${field} ${JSON.stringify(found[field])}, but this pipeline has ${JSON.stringify(expected[field])}. Put the old setting back, or give this pipeline a journal topic and a group of its own (docs/faq.md, "Changing things").`,
      );
    }
  }
}

async function startPositions(
  context: PipelineContext,
  request: ClaimRequest,
  state: JournalState,
  signal: AbortSignal,
): Promise<Map<number, PartitionState>> {
  const { partitions } = request;
  const committed = await confirmedOffsets(context, partitions, signal);
  // The journal's record and the commit of a partition are written together, from the first claim on.
  const forgotten = partitions.filter(
    (partition) =>
      !state.progress.has(partition) && isOwnCommit(committed.get(partition)?.metadata ?? ''),
  );
  if (forgotten.length > 0) {
    // If a newer owner has committed them since the journal was read, the shard is lost instead.
    await request.queue.run(() => ownerRecord(context));
    const state = `has lost their records in partition ${request.shard}`;
    throw new RefusedError(forgottenJournal(context.options, forgotten, state));
  }
  const read = partitions.map((partition) => {
    const { watermark = 0 } = state.progress.get(partition) ?? {};
    return [partition, Math.max(watermark, committed.get(partition)?.offset ?? 0)] as const;
  });
  const ranges = await rangesBehind(context, new Map(read), signal);
  const starts = new Map<number, PartitionState>();
  for (const partition of partitions) {
    const range = ranges.get(partition);
    if (range === undefined)
      throw new ShardLostError(`source partition ${partition} cannot be seen yet`);
    starts.set(
      partition,
      startPosition(
        context,
        request,
        state,
        partition,
        range,
        committed.get(partition) ?? { offset: null, metadata: '' },
      ),
    );
  }
  return starts;
}

/**
 * Returns the committed offsets. Foreign ones are read twice: right after a claim the group's
 * coordinator may return the previous commit, which must not count as a reset (model:
 * stale-offset-taken-for-reset).
 */
async function confirmedOffsets(
  context: PipelineContext,
  partitions: readonly number[],
  signal: AbortSignal,
): Promise<ReadonlyMap<number, CommittedOffset>> {
  const { admin, options, clock } = context;
  const read = () => admin.committed(options.source.group, options.source.topic, partitions);
  const foreign = (at: CommittedOffset | undefined) =>
    at !== undefined && at.offset !== null && !isOwnCommit(at.metadata);
  let before = await read();
  for (;;) {
    if (![...before.values()].some(foreign)) return before;
    await clock.sleep(options.resetConfirmMs, signal);
    const again = await read();
    const unchanged = partitions.every((partition) => {
      const [a, b] = [before.get(partition), again.get(partition)];
      return foreign(a) === foreign(b) && (!foreign(a) || a?.offset === b?.offset);
    });
    if (unchanged) return again;
    before = again;
  }
}

function startPosition(
  context: PipelineContext,
  request: ClaimRequest,
  state: JournalState,
  partition: number,
  range: PartitionRange,
  committed: CommittedOffset,
): PartitionState {
  const { options, metrics } = context;
  const { logger } = request;
  const labels = { pipeline: options.name };
  const reset = committed.offset !== null && !isOwnCommit(committed.metadata);
  const progress = state.progress.get(partition);

  if (progress === undefined) {
    const first = state.meta === undefined;
    // An offset that was set by hand counts; a partition added later starts at its beginning.
    const at = reset
      ? (committed.offset as number)
      : first && options.source.startFrom === 'latest'
        ? range.end
        : range.start;
    const offset = Math.min(Math.max(at, range.start), range.end);
    logger.info({ partition, offset, end: range.end }, 'starts reading this source partition');
    return PartitionState.startAt(partition, offset, { inherited: reset });
  }

  if (!reset && progress.watermark > range.end) {
    throw new RefusedError(
      `source topic ${options.source.topic} ends at offset ${range.end} in partition ${partition}, but this pipeline has read up to ${progress.watermark}: the topic was deleted and created again. ` +
        `Give the pipeline a new journal topic and a new group to review the new topic from its beginning; what the old journal ${options.journal.topic} still holds can no longer be retried.`,
    );
  }

  if (reset) {
    const offset = Math.min(Math.max(committed.offset as number, range.start), range.end);
    const live = new OffsetSet();
    for (const job of state.jobs.values())
      for (const [p, offsets] of job.left.entries())
        if (p === partition) for (const one of offsets) live.add(one);
    const result = resetProgress(progress, offset, live);
    logger.warn(
      {
        partition,
        offset,
        before: progress.watermark,
        skipped: result.skipped,
        replay: result.progress.replay,
      },
      'the group was reset by somebody: reading from its offset',
    );
    if (result.skipped > 0) metrics.count('reset_skipped_records_total', labels, result.skipped);
    return PartitionState.begin(partition, result.progress);
  }

  const resumed = PartitionState.resume(partition, progress);
  if (progress.watermark < range.start) skipRemoved(context, logger, resumed, range.start);
  return resumed;
}

/** The parts that work on an owned shard, and who hands what to whom. */
import type { SealedItems } from '../../core/batch/buffer.ts';
import type { LiveJob } from '../../core/journal/job.ts';
import type { CoordinateList } from '../../core/offsets/coordinate-list.ts';
import { recoveredSpan } from '../context/batch-span.ts';
import type { PipelineContext } from '../context/pipeline-context.ts';
import type { ShardContext } from '../context/shard-context.ts';
import type { BatchPlan, Submission } from '../context/submission.ts';
import type { Held } from '../limits/in-flight.ts';
import { BatchMemory } from '../limits/memory-budget.ts';
import { DeadLetterIntake } from '../source/dead-letter-queue.ts';
import { parkedBatch } from '../source/parked-batch.ts';
import { RereadQueue } from '../source/reread-queue.ts';
import { Intake } from '../stages/intake.ts';
import { PerItemSettler } from '../stages/per-item-settler.ts';
import { ResultFileSettler } from '../stages/result-file-settler.ts';
import { Retrier } from '../stages/retrier.ts';
import { Submitter } from '../stages/submitter.ts';
import { type Settle, Tracker } from '../stages/tracker.ts';

/** First polls after a restart are spread: this long for each live job, at most the polling cap. */
const RECOVERY_SPREAD_MS = 2;

/**
 * Starts to work on a shard: follows the live jobs of its journal, and takes records.
 * @param hooks.journaled a job was committed, and progress with it
 * @param hooks.commitProgress is asked to commit W soon
 * @returns the part that takes what is fetched
 */
export function startStages(
  shard: ShardContext,
  hooks: { readonly journaled: () => void; readonly commitProgress: () => void },
): Intake {
  const { context, state } = shard;
  const submit = (submission: Submission) => {
    // A shard that is lost starts nothing; the memory that the items were counted with must come back all the same.
    if (shard.signal.aborted) {
      submission.batch.sink.release();
      submission.memory.release();
    } else shard.spawn('submit', () => submitter.submit(submission));
  };
  const letters = new DeadLetterIntake(shard);
  const rewind = new RereadQueue(shard, letters);
  const holdBack = (plan: BatchPlan, records: CoordinateList) =>
    rewind.add(parkedBatch(shard, plan, records, submit));
  const retrier = new Retrier(shard, { rewind, letters, submit, holdBack });
  const tracker = new Tracker(shard, {
    settle: settling(shard),
    fail: (job, failure) => retrier.add(job, failure),
  });
  const follow = (job: LiveJob, firstWaitMs: number) =>
    shard.spawn('track', () => tracker.follow(job, firstWaitMs));
  const submitter = new Submitter(shard, letters, {
    track: (job) => follow(job, context.options.review.poll.initialMs),
    fail: (job, failure) => retrier.add(job, failure),
    journaled: () => {
      hooks.journaled();
      intake.roomMade();
    },
    holdBack,
  });
  const intake = new Intake(
    shard,
    (sealed, held) => submit(firstSubmission(sealed, held, context)),
    hooks.commitProgress,
  );
  shard.onPublished = () => intake.roomMade();

  context.ledger.recovered(state.unsettled);
  const spreadMs = Math.min(
    context.options.review.poll.maxMs,
    state.jobs.size * RECOVERY_SPREAD_MS,
  );
  for (const job of state.jobs.values()) {
    const status = shard.status(job);
    status.phase = 'reviewing';
    status.span = recoveredSpan(shard, job);
    follow(job, context.random.next() * spreadMs);
  }
  return intake;
}

function settling(shard: ShardContext): Settle {
  const { kind } = shard.context;
  if ('results' in kind) {
    const settler = new ResultFileSettler(shard, kind);
    return (job, status, download) => settler.settle(job, status, download);
  }
  const settler = new PerItemSettler(shard, kind);
  return (job, status, _download, last) => settler.settle(job, status, last);
}

function firstSubmission(
  { batch }: SealedItems,
  held: Held,
  { budget }: PipelineContext,
): Submission {
  const memory = new BatchMemory((change) => budget.unseal(-change), batch.heldBytes);
  return {
    type: batch.type,
    batch,
    bytes: batch.bytes,
    held,
    attempt: 1,
    depth: 0,
    spent: 1,
    memory,
  };
}

/**
 * Stages of an owned shard, and the two loops between them:
 *
 *   intake ──► submit ──► follow ──► settle
 *                ▲  └─ park ─┐ └─ fail ─┐
 *                └────── rereads ◄──────┘
 */
import type { BatchRecords, LiveJob } from '../../core/journal/job.ts';
import { writeAcknowledgement } from '../../core/journal/journal-records.ts';
import type { JobPhase } from '../../core/pipeline-view.ts';
import { quotaShares, type ShardContext } from '../context/shard-context.ts';
import type { BatchPlan, Submission } from '../context/submission.ts';
import { type ChunkSize, TerminalWriter } from '../context/terminal-writer.ts';
import { earliest } from '../limits/in-flight.ts';
import type { Lane } from '../limits/lanes.ts';
import { memoryOfItems } from '../limits/memory-budget.ts';
import { DeadLetterRereads } from '../source/dead-letter-rereads.ts';
import { writtenBetween } from '../source/reread.ts';
import { RereadQueue, type RereadRequest } from '../source/reread-queue.ts';
import { Intake } from '../stages/intake.ts';
import { PerItemSettler } from '../stages/per-item-settler.ts';
import { ResultFileSettler } from '../stages/result-file-settler.ts';
import { Retrier } from '../stages/retrier.ts';
import type { FailedJob, Heard, ShardStages } from '../stages/shard-stages.ts';
import { Submitter } from '../stages/submitter.ts';
import { Tracker } from '../stages/tracker.ts';

// Parked batches: if a batch's type is blocked, only the coordinates of its records are kept, so
// that memory remains for other types. The records are reread once the type's breaker grants a
// permit. W stays below them, and `source.maxInFlight` limits how far the partition can advance in
// the meantime.

/** Bytes of memory of a parked batch in addition to its coordinates. */
const OBJECT_BYTES = 1024;

/**
 * Returns the request to reread a batch. The caller discards the batch's rows.
 * @param submit receives the batch once its items have been reread
 */
function parkedBatch(
  { type, lane, bytes, from, inFlight, attempt, depth, spent }: BatchPlan,
  records: BatchRecords,
  submit: (submission: Submission) => void,
  forQuota = false,
): RereadRequest {
  // Copies only the plan, because a submission also has rows and memory.
  const plan = { type, lane, bytes, from, inFlight, attempt, depth, spent };
  return {
    ...{ type, records, from, inFlight },
    written: writtenBetween(from ?? records),
    bytes: memoryOfItems(records.size, 2 * bytes),
    submits: true,
    quotaRank: forQuota ? { lane, isRetry: from !== undefined, rows: records.size } : undefined,
    // For records of a job, this memory is negligible.
    heldBytes: from === undefined ? OBJECT_BYTES + records.heldBytes : 0,
    found: async (items, permit, batchOf) => {
      const batch = await batchOf(items);
      if (batch !== undefined) submit({ ...plan, permit, batch });
    },
  };
}

/** Records in flight of a lane. */
export interface LaneReport {
  readonly records: number;
  /** Timestamp of the oldest record in ms. Infinity if there is none. */
  readonly oldestEventMs: number;
}

/** A live job and its phase. */
export interface JobReport {
  readonly job: LiveJob;
  readonly phase: JobPhase;
  /** undefined before the first response about the job. */
  readonly heard: Heard | undefined;
}

/** The first polls after a restart are spread over this time in ms per live job, at most review.poll in total. */
const RECOVERY_SPREAD_MS = 2;

export class OwnedShard implements ShardStages {
  readonly shard: ShardContext;
  /** End of the claim in ms (wall clock). */
  readonly sinceMs: number;
  readonly writer: TerminalWriter;
  readonly deadLetters: DeadLetterRereads;
  readonly rereads: RereadQueue;
  readonly #deferred: ReadonlyMap<Lane, RereadQueue>;
  readonly intake: Intake;
  readonly #submitter: Submitter;
  readonly #tracker: Tracker;
  readonly #retrier: Retrier;
  /** Time of the last progress in ms (monotonic clock). */
  lastProgressMs: number;

  constructor(shard: ShardContext, size: ChunkSize) {
    const { clock, kind } = shard;
    this.shard = shard;
    this.sinceMs = clock.now();
    this.lastProgressMs = clock.monotonic();
    this.writer = new TerminalWriter(shard, size, () => {
      shard.quota?.settled();
      this.intake.flow();
    });
    this.deadLetters = new DeadLetterRereads(shard, this.writer);
    this.rereads = new RereadQueue(shard, this.deadLetters);
    this.#deferred = new Map(
      shard.lanes.all.map((lane) => [lane, new RereadQueue(shard, this.deadLetters, lane)]),
    );
    this.intake = new Intake(shard, this);
    this.#submitter = new Submitter(shard, this);
    this.#retrier = new Retrier(shard, this);
    this.#tracker = new Tracker(shard, this, (job) =>
      'results' in kind
        ? new ResultFileSettler(shard, this.writer, kind, job)
        : new PerItemSettler(shard, this.writer, kind, job),
    );
    shard.control.listen(() => this.#obey());
    shard.quota?.listen(() => this.intake.flow());
  }

  /** Follows the live jobs that the journal contains, and starts intake. */
  start(): void {
    const { ledger, options, random, report, state } = this.shard;
    ledger.recovered(state.unsettled);
    const spreadMs = Math.min(options.review.pollMs, state.jobs.size * RECOVERY_SPREAD_MS);
    for (const job of state.jobs.values()) {
      report.spans.recovered(job);
      this.follow(job, random.next() * spreadMs, false);
    }
    this.intake.resume();
    this.#obey();
  }

  /** Applies changed options of the context. */
  reloaded(): void {
    const { options, quota, topics } = this.shard;
    quota?.change(quotaShares(options.quota, topics.shards));
    this.intake.reloaded();
  }

  /** Number of records that were read and have no terminal record yet. */
  get unsettled(): number {
    return this.shard.inFlight.records + this.shard.state.unsettled;
  }

  /** Records in flight by lane. */
  get lanes(): ReadonlyMap<string, LaneReport> {
    const { inFlight, lanes, state } = this.shard;
    const jobs = Map.groupBy(state.jobs.values(), ({ record }) => lanes.named(record.lane));
    return new Map(
      lanes.all.map((lane) => {
        const all = [
          ...this.intake.recordsOf(lane).map(({ size, oldestMs }) => [size, oldestMs] as const),
          ...inFlight.unassigned.of(lane).map((one) => [one.left, one.oldestEventMs] as const),
          ...(jobs.get(lane) ?? []).map(
            (job) => [job.left.size, job.record.oldestEventMs] as const,
          ),
        ];
        const records = all.reduce((sum, [size]) => sum + size, 0);
        return [lane.name, { records, oldestEventMs: earliest(all.map(([, ms]) => ms)) }];
      }),
    );
  }

  /** Live jobs in the order of their submission. */
  get jobs(): readonly JobReport[] {
    return [...this.shard.state.jobs.values()].map((job) => {
      const failed = this.#retrier.failed(job);
      if (failed !== undefined) return { job, phase: 'retrying', heard: failed.heard };
      const followed = this.#tracker.followed(job);
      if (followed === undefined) return { job, phase: 'uploading', heard: undefined };
      return { job, phase: followed.isSettling ? 'settling' : 'reviewing', heard: followed.heard };
    });
  }

  /** Applies the current command. */
  #obey(): void {
    this.acknowledge();
    this.intake.flow();
    this.intake.sealToDrain();
  }

  /** Acknowledges commands and completed drains. */
  acknowledge(): void {
    const { control, inFlight, queue, spawn, state } = this.shard;
    if (control.revision === 0) return;
    spawn('control', async () => {
      await queue.run(() => {
        const answer = control.answer(state, inFlight.records);
        return answer && { journal: [writeAcknowledgement(answer)] };
      });
    });
  }

  submit(submission: Submission): void {
    if (!this.shard.signal.aborted) {
      this.shard.spawn('submit', () => this.#submitter.submit(submission));
      return;
    }
    // A lost shard starts nothing, but must still release memory.
    submission.batch[Symbol.dispose]();
  }

  follow(job: LiveJob, firstWaitMs: number, isProbe: boolean): void {
    this.shard.spawn('follow', () => this.#tracker.follow(job, firstWaitMs, isProbe));
  }

  fail(failed: FailedJob): void {
    this.#retrier.add(failed);
  }

  park(plan: BatchPlan, records: BatchRecords, forQuota = false): void {
    this.rereads.add(parkedBatch(plan, records, (again) => this.submit(again), forQuota));
  }

  submitDeferred(plan: BatchPlan, records: BatchRecords): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const request = parkedBatch(plan, records, (again) => this.submit(again));
    this.#deferred.get(plan.lane)?.add({
      ...request,
      found: (...found) => request.found(...found).finally(resolve),
    });
    return promise;
  }

  journaled(): void {
    this.lastProgressMs = this.shard.clock.monotonic();
    this.intake.flow();
  }

  commitProgress(): void {
    const { clock, queue, spawn, state } = this.shard;
    spawn('progress', async () => {
      this.lastProgressMs = clock.monotonic();
      await queue.run(() => state.progressOnly({ positions: true }));
      this.intake.flow();
    });
  }
}

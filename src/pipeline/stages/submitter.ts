/**
 * Submits sealed batches: encodes the body, creates the batch at the service, commits the job with
 * its source offsets in one transaction, then uploads. A hanging call does not block other batches.
 */
import { backoffCeilingMs, retryWaitMs } from '../../../packages/client/src/base/backoff.ts';
import { err, ok, type Result } from '../../../packages/client/src/base/result.ts';
import { REFUSES_INPUT, ServiceError } from '../../../packages/client/src/base/service-error.ts';
import type { Span } from '../../../packages/client/src/base/tracing.ts';
import type { EncodedBody } from '../../core/bytes/row-sink.ts';
import { type JobRecord, type LiveJob, sourcesOf } from '../../core/journal/job.ts';
import { reactionTo } from '../../core/outcome/failure-policy.ts';
import type { JobFailure } from '../../core/outcome/failure-table.ts';
import type { CreatedJob } from '../../core/ports/pipeline-kind.ts';
import { spanFields, step } from '../context/batch-spans.ts';
import type { ShardContext } from '../context/shard-context.ts';
import type { Submission } from '../context/submission.ts';
import { DEFAULT_LANE, type Rank } from '../limits/lanes.ts';
import type { Permit } from '../limits/type-breakers.ts';
import type { WaitReason } from '../limits/wait-reasons.ts';
import { writtenBetween } from '../source/reread.ts';
import { FIRST_POLL_MS, type ShardStages } from './shard-stages.ts';

const BACKOFF = { baseMs: 500, capMs: 30_000 };

/**
 * Reason why a batch was not submitted. `blocked`: its type is blocked, or the pipeline is paused.
 * `over_quota`: the quota has no room for the batch within a minute. `unavailable`: a call failed
 * temporarily. `rejected_type`: the service rejects the type.
 */
type NotSubmitted = 'blocked' | 'over_quota' | 'unavailable' | 'rejected_type';

/** Batch with its encoded body. */
interface EncodedBatch extends Submission {
  readonly body: EncodedBody;
  readonly span: Span;
}

/** A journaled batch that is being uploaded. */
interface Upload {
  readonly job: LiveJob;
  readonly created: CreatedJob;
  readonly body: EncodedBody;
  readonly isProbe: boolean;
  /** Number of attempts that have failed. */
  failures: number;
  mayHaveArrived: boolean;
  /** Wait before the next attempt; undefined before the first one, and when the upload is over. */
  pause: { readonly because: WaitReason; readonly forMs: number } | undefined;
}

export class Submitter {
  readonly #shard: ShardContext;
  readonly #stages: ShardStages;

  constructor(shard: ShardContext, stages: ShardStages) {
    this.#shard = shard;
    this.#stages = stages;
  }

  /** Resolves once the job has been uploaded, has failed or is parked. @throws errors that end the shard */
  async submit(submission: Submission): Promise<void> {
    const { breakers, control, report } = this.#shard;
    using batch = submission.batch;
    const { type, permit } = submission;
    if (!control.submits || (permit === undefined && breakers.blocks(type))) {
      this.#stages.park(submission, batch.records);
      return;
    }
    const span = report.spans.begin(submission);
    const submitted = await this.#submit(submission, span);
    if (submitted.ok) return;
    if (submitted.error === 'rejected_type') {
      report.spans.discard(span, 'rejected_type');
      this.#deadLetter(submission);
    } else {
      report.spans.discard(span, 'parked');
      this.#stages.park(submission, batch.records, submitted.error === 'over_quota');
    }
  }

  async #submit(submission: Submission, span: Span): Promise<Result<void, NotSubmitted>> {
    const { breakers, control, quota, signal, waits } = this.#shard;
    const { type, lane, from } = submission;
    const rank = { lane, isRetry: from !== undefined, rows: submission.batch.length };
    const body = await waits.permitted('encodes', () => this.#encode(submission, span), rank);
    const encoded = { ...submission, body, span };
    for (let { permit } = submission; ; permit = undefined) {
      if (permit === undefined) await breakers.ready(type, signal);
      const send = () => waits.permitted('uploads', () => this.#send(encoded, permit), rank);
      const sent = await (quota === undefined ? send() : quota.admit(rank, send));
      if (sent === undefined) return err('over_quota');
      if (sent.ok) return ok(await this.#uploadInTurns(sent.value, rank));
      if (sent.error !== 'unavailable') return sent;
      // Bodies of one type must not occupy memory that other types need.
      const isBlocked = from === undefined ? breakers.blocks(type) : !breakers.isFree(type);
      if (isBlocked || !control.submits) return err('blocked');
    }
  }

  /**
   * Creates the batch, journals its job and uploads it. With a quota, only one upload attempt is
   * made. If the upload then has a `pause`, the caller must repeat it.
   */
  async #send(encoded: EncodedBatch, given?: Permit): Promise<Result<Upload, NotSubmitted>> {
    const { breakers, control, quota } = this.#shard;
    const { type } = encoded;
    // The pipeline may have been paused during the wait for a permit.
    if (!control.submits) return err('blocked');
    const permit = given === 'probe' ? given : breakers.tryAcquire(type);
    if (permit === undefined) return err('unavailable');
    const created = await this.#create(encoded);
    if (!created.ok) return created;
    const job = await this.#journal(encoded, created.value);
    if (!job.ok) return job;
    const upload: Upload = {
      job: job.value,
      created: created.value,
      body: encoded.body,
      isProbe: permit === 'probe',
      failures: 0,
      mayHaveArrived: false,
      pause: undefined,
    };
    do {
      await this.#pause(upload);
      await this.#upload(upload);
    } while (quota === undefined && upload.pause !== undefined);
    return ok(upload);
  }

  /** Repeats an upload in turns of the quota, so that other batches of the shard do not wait for it. */
  async #uploadInTurns(upload: Upload, rank: Rank): Promise<void> {
    const { queue, quota, waits } = this.#shard;
    const { rows } = rank;
    while (quota !== undefined && upload.pause !== undefined) {
      await this.#pause(upload);
      const again = () =>
        waits.permitted(
          'uploads',
          async () => {
            await queue.run(() => ({ journal: [quota.spend(rows)] }));
            await this.#upload(upload);
            return true;
          },
          rank,
        );
      // The job is live, so its rows are under review already.
      if (await quota.admit({ ...rank, isRetry: true }, again)) continue;
      // The quota is used up for longer than the address is likely to be valid.
      this.#failUpload(upload, 'upload_expired');
    }
  }

  async #pause({ pause }: Upload): Promise<void> {
    if (pause === undefined) return;
    const { clock, signal, waits } = this.#shard;
    await waits.while(pause.because, clock.sleep(pause.forMs, signal));
  }

  #deadLetter({ type, from, inFlight, batch: { records } }: Submission): void {
    this.#shard.logger.error(
      { type, records: records.size },
      'the service refuses this content type; its records become dead letters',
    );
    const message = 'the service does not accept this content type';
    const poison = { reason: 'rejected_type', message } as const;
    const written = writtenBetween(from ?? records);
    this.#stages.deadLetters.add({ records, written, from, inFlight, poison, stage: 'create' });
  }

  async #encode({ batch, from }: Submission, span: Span): Promise<EncodedBody> {
    const { report, waits } = this.#shard;
    if (from === undefined) report.since('buffer', batch.sinceMs);
    const body = await waits.during('transfer', batch.encode());
    report.observe('batch_rows', body.rows);
    span.set({
      'content_review.rows': body.rows,
      'content_review.bytes': body.body.length,
    });
    span.event('encoded');
    return body;
  }

  /** Calls the service once. A retry waits at the type's breaker, so that it does not occupy a slot of the calls. */
  async #create({ type, span }: EncodedBatch): Promise<Result<CreatedJob, NotSubmitted>> {
    const { breakers, clock, kind, logger, options, report, signal, waits } = this.#shard;
    const startedMs = clock.monotonic();
    try {
      const created = await step(
        span,
        'create',
        {},
        () => waits.during('service', kind.create(type, signal)),
        { done: ({ remoteId }) => ({ 'content_review.batch': remoteId }) },
      );
      report.since('create', startedMs);
      return ok(created);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof ServiceError)) throw error;
      const reaction = reactionTo('create', error.failure);
      if (reaction.do === 'reject_type') {
        const { onRejectedType } = options.review;
        if (onRejectedType === 'dead-letter' && REFUSES_INPUT.has(error.status ?? 0))
          return err('rejected_type');
        breakers.rejected(type, error.message);
        return err('unavailable');
      }
      const about = { type, ...spanFields(span), error: error.message };
      logger.warn(about, 'could not create a batch; retrying');
      this.#unanswered(type, reaction.because, error.retryAfterMs);
    }
    return err('unavailable');
  }

  #unanswered(type: string, reason: WaitReason, floorMs?: number): void {
    const waitMs = (before: number) => this.#waitMs(reason, before, floorMs);
    this.#shard.breakers.unanswered(type, reason, waitMs);
  }

  /** Commits the job, unless the pipeline has been paused or a live job has the same remote id. */
  async #journal(
    { lane, from, inFlight, batch: { records, sink }, body: { body }, span, ...plan }: EncodedBatch,
    created: CreatedJob,
  ): Promise<Result<LiveJob, NotSubmitted>> {
    const { breakers, clock, control, kind, logger, queue, quota, random, report, state } =
      this.#shard;
    const { type, attempt, depth, spent } = plan;
    let isHeld = false;
    const { remoteId } = created;
    const id = random.id();
    const record: JobRecord = {
      id,
      remoteId,
      kind: kind.name,
      type,
      attempt,
      depth,
      spent,
      root: from?.record.root ?? id,
      sequence: from?.record.sequence ?? state.nextSequence(),
      count: records.size,
      bytes: body.length,
      createdMs: clock.now(),
      oldestEventMs: records.oldestMs,
      newestEventMs: records.newestMs,
      sources: sourcesOf(records, (one) => from?.replayOf(one) ?? state.partition(one).replay),
      ...(lane.name !== DEFAULT_LANE && { lane: lane.name }),
      ...(sink.rowKey === undefined ? {} : { rowKey: sink.rowKey }),
    };
    const startedMs = clock.monotonic();
    const committed = () =>
      queue.run(() => {
        // The journal may already contain an acknowledgement of the pause. No job may follow it.
        isHeld = !control.submits;
        if (isHeld || state.hasRemoteId(remoteId)) return undefined;
        const step =
          from === undefined ? state.submit(record, records) : state.move(from, record, records);
        inFlight?.drop(records.size);
        if (quota === undefined) return step;
        return { ...step, journal: [...step.journal, quota.spend(records.size)] };
      });
    await (from === undefined ? committed() : report.spans.shrinking(from, committed));

    const job = state.jobs.get(id);
    if (job === undefined) {
      if (isHeld) return err('blocked');
      const about = { batch: remoteId, type, ...spanFields(span) };
      logger.error(about, 'the service returned the id of a live job; creating another batch');
      this.#unanswered(type, 'service');
      return err('unavailable');
    }
    breakers.accepted(type);
    report.since('journal', startedMs);
    report.count('batches_created_total');
    if (from !== undefined) report.count('items_resubmitted_total', {}, records.size);
    report.spans.adopt(job, span);
    span.set({ 'content_review.job': id, 'content_review.batch': remoteId });
    span.event('journaled');
    if (from === undefined) this.#stages.journaled();
    const about = { ...report.fieldsOf(job), rows: records.size, attempt };
    logger.debug(about, 'batch created');
    return ok(job);
  }

  /** Uploads the body once, only after the job is in the journal (I4) and only as a group member. */
  async #upload(upload: Upload): Promise<void> {
    const { clock, kind, quota, report, signal, uploadSignal, waits } = this.#shard;
    const { job, created, body } = upload;
    upload.pause = undefined;
    await this.#confirmMembership();
    signal.throwIfAborted();
    const startedMs = clock.monotonic();
    try {
      const size = { 'content_review.bytes': body.body.length };
      await step(report.spans.of(job), 'upload', size, () =>
        waits.during('transfer', kind.upload(created, body, uploadSignal)),
      );
      report.since('upload', startedMs);
      this.#uploaded(upload);
    } catch (error) {
      // A connection that is being closed may still read the body.
      body.drop();
      signal.throwIfAborted();
      if (!(error instanceof ServiceError)) throw error;
      const about = { ...report.fieldsOf(job), error: error.message };
      this.#shard.logger.warn(about, 'upload failed');
      const reaction = reactionTo('upload', error.failure);
      if (error.mayHaveArrived) upload.mayHaveArrived = true;
      else quota?.takeBack(job.record.count);
      if (reaction.do === 'fail') return this.#failUpload(upload, reaction.as);
      const { because } = reaction;
      const forMs = this.#waitMs(because, upload.failures++, error.retryAfterMs);
      upload.pause = { because, forMs };
    }
  }

  #failUpload(upload: Upload, failure: JobFailure): void {
    const { job, isProbe, mayHaveArrived } = upload;
    upload.pause = undefined;
    // Follows the job first, because with a new batch its items might be reviewed twice.
    if (mayHaveArrived) this.#uploaded(upload);
    else this.#stages.fail({ job, failure, isProbe });
  }

  /** Follows a job whose upload has or may have arrived. If it has not, the job fails after its grace period. */
  #uploaded({ job, isProbe }: Upload): void {
    const { signal, state } = this.#shard;
    // Jobs of the lookup kind have no upload.
    if (job.record.bytes > 0) state.uploaded(job);
    if (!signal.aborted) this.#stages.follow(job, FIRST_POLL_MS, isProbe);
  }

  /** Confirms the membership if the group was silent for a session timeout: another owner may have taken over. */
  async #confirmMembership(): Promise<void> {
    const { clock, group, options, waits } = this.#shard;
    if (clock.monotonic() - group.lastHeardMs() < options.kafka.sessionTimeoutMs) return;
    const confirmed = group.confirmMembership(this.#shard.signal);
    await waits.while('kafka', confirmed);
  }

  #waitMs(reason: WaitReason, attempt: number, floorMs?: number): number {
    const { options, random } = this.#shard;
    const baseMs =
      reason === 'api_key'
        ? options.review.pauseMs
        : Math.min(1000, backoffCeilingMs(attempt, BACKOFF));
    return baseMs / 2 + retryWaitMs(attempt, BACKOFF, random, floorMs);
  }
}

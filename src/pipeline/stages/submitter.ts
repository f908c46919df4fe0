/**
 * Turns sealed items into remote jobs (DESIGN 3 'Seal and create'): put the body together, create, journal + offsets in one
 * transaction, then upload. Jobs may commit in any order: one hanging call blocks nobody.
 */
import { backoffCeilingMs, retryWaitMs } from '../../base/backoff.ts';
import { type JobRecord, type LiveJob, sourcesOf } from '../../core/journal/job.ts';
import type { CoordinateList } from '../../core/offsets/coordinate-list.ts';
import { reactionTo } from '../../core/outcome/failure-policy.ts';
import type { JobFailure } from '../../core/outcome/failure-row.ts';
import { REFUSES_INPUT, ServiceError } from '../../core/outcome/service-error.ts';
import type { Transaction } from '../../core/ports/kafka.ts';
import type { CreatedJob } from '../../core/ports/pipeline-kind.ts';
import type { EncodedBody } from '../../core/ports/row-sink.ts';
import { NO_SPAN, type Span } from '../../core/ports/tracing.ts';
import { spanFields, startBatchSpan, step } from '../context/batch-span.ts';
import type { ShardContext } from '../context/shard-context.ts';
import type { BatchPlan, Submission } from '../context/submission.ts';
import type { WaitReason } from '../limits/wait-reasons.ts';
import type { DeadLetterIntake } from '../source/dead-letter-queue.ts';

const BACKOFF = { baseMs: 500, capMs: 30_000 };
/** Far more than the largest batch takes; nobody outside can hold it up. */
const MAX_ENCODE_MS = 60_000;

export class Submitter {
  readonly #shard: ShardContext;
  readonly #track: (job: LiveJob) => void;
  readonly #fail: (job: LiveJob, failure: JobFailure) => void;
  readonly #journaled: () => void;
  readonly #letters: DeadLetterIntake;
  readonly #holdBack: (plan: BatchPlan, records: CoordinateList) => void;

  /**
   * @param hooks.track follows a job whose upload is through
   * @param hooks.fail takes a job whose upload cannot succeed
   * @param hooks.journaled a job was committed: W may have moved
   * @param hooks.holdBack takes a batch whose type waits; its body is thrown away
   * @param letters takes the records of a type that is refused for good
   */
  constructor(
    shard: ShardContext,
    letters: DeadLetterIntake,
    hooks: {
      track: (job: LiveJob) => void;
      fail: (job: LiveJob, failure: JobFailure) => void;
      journaled: () => void;
      holdBack: (plan: BatchPlan, records: CoordinateList) => void;
    },
  ) {
    this.#shard = shard;
    this.#track = hooks.track;
    this.#fail = hooks.fail;
    this.#journaled = hooks.journaled;
    this.#letters = letters;
    this.#holdBack = hooks.holdBack;
  }

  /** Resolves when the job is uploaded, or handed on: as failed, or held back. @throws what ends the shard */
  async submit(submission: Submission): Promise<void> {
    const { context, signal, turns } = this.#shard;
    const { type, from, batch } = submission;
    const { records } = batch;
    const { gates } = context;
    // At once, while submissions still come in the order in which they were sealed.
    if (from === undefined) submission.place ??= turns.enter(type);
    const { place } = submission;
    let { pass } = submission;
    let parkedBatch = false;
    let span = NO_SPAN;
    let body: EncodedBody | undefined;
    let hasJob = false;
    let outcome = 'handed_over';
    try {
      if (pass === undefined && gates.holds(type)) {
        parkedBatch = true;
        return;
      }
      span = startBatchSpan(
        this.#shard,
        submission,
        from === undefined ? undefined : this.#shard.spanOf(from.record.id),
      );
      const encoded = await this.#shard.permitted('encodes', () => this.#encode(submission, span));
      body = encoded;
      if (place !== undefined) await this.#shard.saysWhy('order', place.turn());
      for (;;) {
        if (pass === undefined) await gates.open(type, signal);
        const answer = await this.#shard.permitted('uploads', async () => {
          signal.throwIfAborted();
          // Asked again here: the gate may have closed while this waited for its permit.
          const leave = pass === 'probe' ? pass : gates.enter(type, signal);
          pass = undefined;
          const created = leave && (await this.#create(type, span));
          if (created === undefined) return 'later';
          if (created === 'rejected') return 'rejected';
          const job = await this.#journal(submission, created, encoded, span);
          if (job === undefined) return 'later';
          place?.leave();
          this.#shard.status(job).probe = leave === 'probe';
          hasJob = true;
          await this.#upload(job, created, encoded);
          return 'done';
        });
        if (answer === 'rejected') {
          outcome = 'rejected_type';
          this.#deadLetter(submission, records);
        }
        if (answer !== 'later') return;
        // Bodies of one type must not fill the memory that others need.
        if (from === undefined ? gates.holds(type) : !gates.isOpen(type)) {
          parkedBatch = true;
          outcome = 'held_back';
          return;
        }
      }
    } finally {
      // From its job on the span is the job's, until its shard is handed over.
      if (!hasJob || signal.aborted) {
        span.set({ 'content_review.outcome': outcome });
        span.end(outcome === 'rejected_type' ? outcome : undefined);
      }
      body?.release();
      batch.sink.release();
      submission.memory.release();
      if (parkedBatch) this.#holdBack(submission, records);
      else place?.leave();
    }
  }

  #deadLetter({ type, from, held }: Submission, records: CoordinateList): void {
    this.#shard.logger.error(
      { type, records: records.length },
      'the service refuses this content type; its records become dead letters',
    );
    const poison = {
      reason: 'rejected_type',
      message: 'the service does not accept this content type',
    } as const;
    this.#letters.add({ records, from, held, poison, stage: 'create' });
  }

  async #encode({ batch, from, memory }: Submission, span: Span): Promise<EncodedBody> {
    const { context, labels, signal } = this.#shard;
    signal.throwIfAborted();
    const startedMs = context.clock.monotonic();
    if (from === undefined) {
      context.metrics.observe(
        'stage_duration_seconds',
        { ...labels, stage: 'buffer' },
        (startedMs - batch.sinceMs) / 1000,
      );
    }
    const body = await this.#shard.saysWhy('encode', batch.sink.finish(), MAX_ENCODE_MS);
    memory.hold(body.heldBytes);
    context.metrics.observe('batch_rows', labels, body.rows);
    context.metrics.observe('batch_bytes', labels, body.body.length);
    span.set({ 'content_review.rows': body.rows, 'content_review.bytes': body.body.length });
    span.event('encoded');
    return body;
  }

  /**
   * Asks once: who has to wait for the service waits at the gate of the type, where no permit is held that others could use.
   * @returns undefined when the gate is closed now; `rejected` when dead letters are due.
   */
  async #create(type: string, span: Span): Promise<CreatedJob | 'rejected' | undefined> {
    const { context, signal } = this.#shard;
    const startedMs = context.clock.monotonic();
    try {
      const asked = () =>
        this.#shard.saysWhy('service_unavailable', context.kind.create(type, signal));
      const created = await step(span, 'create', {}, asked, ({ remoteId }) => ({
        'content_review.batch': remoteId,
      }));
      this.#observe('create', startedMs);
      if (!this.#shard.state.hasRemoteId(created.remoteId)) {
        context.gates.accepted(type);
        return created;
      }
      this.#sayTaken(created, type, span);
      this.#later(type, 'service_unavailable');
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof ServiceError)) throw error;
      const reaction = reactionTo('create', error.failure);
      if (reaction.do === 'reject_type') {
        if (
          context.options.review.onRejectedType === 'dead-letter' &&
          REFUSES_INPUT.has(error.status ?? 0)
        )
          return 'rejected';
        context.gates.rejected(type, error.message);
        return undefined;
      }
      this.#shard.logger.warn(
        { type, ...spanFields(span), error: error.message },
        'could not create a batch; trying again',
      );
      this.#later(type, reaction.because, error.retryAfterMs);
    }
    return undefined;
  }

  #sayTaken({ remoteId }: CreatedJob, type: string, span: Span): void {
    this.#shard.logger.error(
      { batch: remoteId, type, ...spanFields(span) },
      'the service gave an id that a live job already has: creating another',
    );
  }

  #later(type: string, reason: WaitReason, floorMs?: number): void {
    this.#shard.context.gates.unanswered(type, reason, (before) =>
      this.#waitMs(reason, before, floorMs),
    );
  }

  /** @returns undefined when another job took the same remote id meanwhile. */
  async #journal(
    submission: Submission,
    created: CreatedJob,
    { body }: EncodedBody,
    span: Span,
  ): Promise<LiveJob | undefined> {
    const { context, state, queue } = this.#shard;
    const { from, held, batch } = submission;
    const { records } = batch;
    const id = context.random.id();
    const record: JobRecord = {
      id,
      remoteId: created.remoteId,
      kind: context.kind.name,
      type: submission.type,
      attempt: submission.attempt,
      depth: submission.depth,
      spent: submission.spent,
      root: from?.record.root ?? id,
      sequence: from?.record.sequence ?? state.nextSequence(),
      count: records.length,
      bytes: body.length,
      createdMs: context.clock.now(),
      oldestEventMs: records.oldestMs,
      newestEventMs: records.newestMs,
      sources: sourcesOf(records),
    };
    const startedMs = context.clock.monotonic();
    await queue.run((): Transaction | undefined => {
      if (state.hasRemoteId(created.remoteId)) return undefined;
      const step =
        from === undefined ? state.submit(record, records) : state.move(from, record, records);
      held?.drop(records.length);
      return {
        journal: step.journal as [(typeof step.journal)[number], ...typeof step.journal],
        offsets: step.offsets,
      };
    });
    const job = state.jobs.get(id);
    if (job === undefined) {
      this.#sayTaken(created, submission.type, span);
      return undefined;
    }
    this.#observe('journal', startedMs);
    context.metrics.count('batches_created_total', this.#shard.labels);
    if (from !== undefined) {
      context.metrics.count('items_resubmitted_total', this.#shard.labels, records.length);
      if (from.left.size === 0) this.#shard.forget(from.record.id);
    }
    this.#shard.status(job).span = span;
    span.set({ 'content_review.job': id, 'content_review.batch': record.remoteId });
    span.event('journaled');
    if (from === undefined) this.#journaled();
    const fields = this.#shard.fieldsOf(job);
    this.#shard.logger.debug(
      { ...fields, rows: records.length, attempt: record.attempt },
      'batch created',
    );
    return job;
  }

  /** Only after the job is in the journal (I4), and only while the group hears from us. */
  async #upload(job: LiveJob, created: CreatedJob, body: EncodedBody): Promise<void> {
    const { context, signal, uploadSignal } = this.#shard;
    let mayHaveArrived = false;
    for (let attempt = 0; ; attempt++) {
      await this.#membership();
      signal.throwIfAborted();
      const startedMs = context.clock.monotonic();
      try {
        const sent = () =>
          this.#shard.saysWhy('upload', context.kind.upload(created, body, uploadSignal));
        await step(
          this.#shard.spanOf(job.record.id),
          'upload',
          { 'content_review.bytes': body.body.length },
          sent,
        );
        this.#observe('upload', startedMs);
        return this.#uploaded(job);
      } catch (error) {
        // A connection that is being torn down may still read it.
        body.drop();
        signal.throwIfAborted();
        if (!(error instanceof ServiceError)) throw error;
        this.#shard.logger.warn(
          { ...this.#shard.fieldsOf(job), error: error.message },
          'the upload failed',
        );
        const reaction = reactionTo('upload', error.failure);
        mayHaveArrived ||= error.mayHaveArrived;
        // Submitted again now it might be reviewed twice: the service is asked first, as for an upload whose answer was good.
        if (reaction.do === 'fail' && mayHaveArrived) return this.#uploaded(job);
        if (reaction.do === 'fail') return this.#fail(job, reaction.as);
        await this.#wait(reaction.because, attempt, error.retryAfterMs);
      }
    }
  }

  /** It is at the service, or may be: if not, its grace ends without it. */
  #uploaded(job: LiveJob): void {
    const { context, signal } = this.#shard;
    const status = this.#shard.status(job);
    status.phase = 'reviewing';
    status.graceFromMs = context.clock.monotonic();
    if (!signal.aborted) this.#track(job);
  }

  /** A member that the group has not heard for a session timeout may have been replaced: it must not upload. */
  async #membership(): Promise<void> {
    const { context, signal, shard } = this.#shard;
    if (
      context.clock.monotonic() - context.group.lastHeardMs() <
      context.options.kafka.sessionTimeoutMs
    )
      return;
    const done = context.waits.begin('membership', `shard ${shard}`);
    try {
      await context.group.confirmMembership(signal);
    } finally {
      done();
    }
  }

  async #wait(reason: WaitReason, attempt: number, floorMs?: number): Promise<void> {
    const { context, signal, shard } = this.#shard;
    const done = context.waits.begin(reason, `shard ${shard}`);
    try {
      await context.clock.sleep(this.#waitMs(reason, attempt, floorMs), signal);
    } finally {
      done();
    }
  }

  #waitMs(reason: WaitReason, attempt: number, floorMs?: number): number {
    const { options, random } = this.#shard.context;
    const base =
      reason === 'unauthorized'
        ? options.review.authPauseMs
        : Math.min(1000, backoffCeilingMs(attempt, BACKOFF));
    return base / 2 + retryWaitMs(attempt, BACKOFF, random, floorMs);
  }

  #observe(stage: string, startedMs: number): void {
    const { context, labels } = this.#shard;
    context.metrics.observe(
      'stage_duration_seconds',
      { ...labels, stage },
      (context.clock.monotonic() - startedMs) / 1000,
    );
  }
}

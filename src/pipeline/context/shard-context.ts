/** What the parts of one owned shard share, from the claim to its loss. */

import { fits } from '../../core/bytes/batch-size.ts';
import type { TerminalRecords } from '../../core/bytes/terminal-records.ts';
import type { LiveJob } from '../../core/journal/job.ts';
import type { ShardState, Step, TakenRecord } from '../../core/journal/shard-state.ts';
import type { JobFailure } from '../../core/outcome/failure-row.ts';
import type { JobContext } from '../../core/ports/pipeline-kind.ts';
import type { JobPhase } from '../../core/ports/pipeline-view.ts';
import type { Logger } from '../../core/ports/telemetry.ts';
import { NO_SPAN, type Span } from '../../core/ports/tracing.ts';
import type { DeadLetterReason, SourceRecord } from '../../core/record.ts';
import { type Held, InFlight } from '../limits/in-flight.ts';
import type { WaitReason } from '../limits/wait-reasons.ts';
import type { ChunkSize } from '../publish/chunk-size.ts';
import { OutputOrder } from '../publish/output-order.ts';
import type { TransactionQueue } from '../publish/transaction-queue.ts';
import { spanFields, step } from './batch-span.ts';
import { Unprepared } from './errors.ts';
import type { PipelineContext } from './pipeline-context.ts';

export interface JobStatus {
  phase: JobPhase;
  /** On the monotonic clock, ms: since when this owner counts the grace for the upload to take effect. */
  graceFromMs: number;
  /** Let through a closed gate to see whether its type succeeds again. */
  probe: boolean;
  /** What the service last said of it, in its spelling, and when. */
  heard: { readonly state: string; readonly finished: boolean; readonly atMs: number } | undefined;
  /** Wall clock, ms: when the service is asked next. */
  nextAskMs: number | undefined;
  /** Of this batch, from its seal or its recovery on. */
  span: Span;
  /** Why it did not end with a decision for each record. */
  failure: JobFailure | undefined;
  /** The failure in detail: of its result file, or of the first malformed row and how many there are. Never content. */
  detail: { readonly reason: string; readonly malformed?: number } | undefined;
}

/** A record that never was in a job, and ends as a dead letter. */
export type UnclaimedRecord = TakenRecord & {
  readonly held: Held | undefined;
  readonly reason: DeadLetterReason;
};

export class ShardContext {
  readonly context: PipelineContext;
  readonly shard: number;
  readonly state: ShardState;
  readonly queue: TransactionQueue;
  readonly logger: Logger;
  /** Aborted when the shard is lost or given up: nothing new begins. */
  readonly signal: AbortSignal;
  /** Aborted later: uploads under way may end until then. */
  readonly uploadSignal: AbortSignal;
  readonly jobs = new Map<string, JobStatus>();
  readonly inHand = new InFlight();
  readonly chunk: ChunkSize;
  readonly turns: OutputOrder;
  /** Called after each commit of terminal records: W may have moved, and less is under way. */
  onPublished: () => void = () => undefined;
  readonly #spawn: (what: string, run: () => Promise<void>) => void;

  constructor(fields: {
    context: PipelineContext;
    shard: number;
    state: ShardState;
    queue: TransactionQueue;
    logger: Logger;
    signal: AbortSignal;
    uploadSignal: AbortSignal;
    chunk: ChunkSize;
    spawn: (what: string, run: () => Promise<void>) => void;
  }) {
    this.context = fields.context;
    this.shard = fields.shard;
    this.state = fields.state;
    this.queue = fields.queue;
    this.logger = fields.logger;
    this.signal = fields.signal;
    this.uploadSignal = fields.uploadSignal;
    this.chunk = fields.chunk;
    const { context, state, shard, signal } = fields;
    this.turns = new OutputOrder({
      order: context.options.output.order,
      state,
      waits: context.waits,
      shard,
      signal,
    });
    this.#spawn = fields.spawn;
  }

  get labels(): { pipeline: string } {
    return { pipeline: this.context.options.name };
  }

  get who(): string {
    return `shard ${this.shard}`;
  }

  /** Settles as `work` does; says why the shard waits when that takes long (I8). */
  saysWhy<T>(reason: WaitReason, work: Promise<T>, atMostMs?: number): Promise<T> {
    return this.context.waits.during(reason, this.who, work, atMostMs);
  }

  /**
   * Resolves when these records can be decoded.
   * @throws Unprepared when that takes longer than `patienceMs`; without a limit it waits
   */
  async prepared(records: readonly SourceRecord[], patienceMs?: number): Promise<void> {
    const loading = this.context.kind.prepare?.(records, this.signal);
    if (loading === undefined) return;
    const ready = this.saysWhy('schema_registry', loading);
    if (patienceMs === undefined) return ready;
    const late = Promise.withResolvers<never>();
    const cancel = this.context.clock.after(patienceMs, () => late.reject(new Unprepared(ready)));
    await Promise.race([ready, late.promise]).finally(cancel);
  }

  /** What this shard does and should have ended long ago. */
  get overdue(): WaitReason | undefined {
    return this.context.waits.overdue(this.who);
  }

  /** Runs `run` when one of the pipeline's limits lets it; says so when that takes long (I8). */
  permitted<T>(limit: keyof PipelineContext['limits'], run: () => Promise<T>): Promise<T> {
    const { waits, limits } = this.context;
    return waits.permitted(limits[limit], `${this.who}: ${limit}`, this.signal, run);
  }

  /** Runs something on its own; if it fails, the shard is given up and claimed again. */
  spawn(what: string, run: () => Promise<void>): void {
    this.#spawn(what, run);
  }

  /** Records that were taken and have no terminal record yet. */
  get inFlight(): number {
    return this.inHand.records + this.state.unsettled;
  }

  status(job: LiveJob): JobStatus {
    let status = this.jobs.get(job.record.id);
    if (status === undefined) {
      status = {
        phase: 'uploading',
        graceFromMs: this.context.clock.monotonic(),
        probe: false,
        heard: undefined,
        nextAskMs: undefined,
        span: NO_SPAN,
        failure: undefined,
        detail: undefined,
      };
      this.jobs.set(job.record.id, status);
    }
    return status;
  }

  /** Facts about a job for terminal records that are made now. */
  aboutJob({ record: { id, remoteId, type, attempt } }: LiveJob): JobContext {
    return { jobId: id, remoteId, type, attempt, decidedAtMs: this.context.clock.now() };
  }

  /** Its batch, in log lines. */
  fieldsOf({ record: { id, remoteId } }: LiveJob): object {
    return { job: id, batch: remoteId, ...spanFields(this.spanOf(id)) };
  }

  spanOf(jobId: string): Span {
    return this.jobs.get(jobId)?.span ?? NO_SPAN;
  }

  /** Nothing is left of a job. */
  forget(jobId: string): void {
    const status = this.jobs.get(jobId);
    if (status === undefined) return;
    this.jobs.delete(jobId);
    status.span.set({ 'content_review.outcome': status.failure ?? 'settled' });
    status.span.end(status.failure);
  }

  /** The shard is another's from now on: what is still to be told of its batches, the next owner tells. */
  handOver(): void {
    for (const { span } of this.jobs.values()) {
      span.set({ 'content_review.outcome': 'handed_over' });
      span.end();
    }
  }

  /** Publishes terminal records for part of a job, in one transaction with the job's remainder (I2). */
  async settle(job: LiveJob, topic: string, chunk: TerminalRecords): Promise<void> {
    if (chunk.length === 0) return;
    const { partitions } = job.left;
    const attributes = {
      'messaging.destination.name': topic,
      'messaging.batch.message_count': chunk.length,
    };
    await step(this.spanOf(job.record.id), 'publish', attributes, () =>
      this.#publish(topic, chunk, job.record.oldestEventMs, () => this.state.settle(job, chunk)),
    );
    if (job.left.size === 0) this.forget(job.record.id);
    if (job.left.partitions < partitions) this.turns.moved();
  }

  /** Whether the output topic takes the decision about a record, as far as is known. @param bytes size of the decision (sizeOfRecord) */
  mayPublish(partition: number, offset: number, bytes: number): boolean {
    return (
      !this.chunk.isOversized(partition, offset) && fits(bytes, this.context.topics.maxOutputBytes)
    );
  }

  /** Decisions about some of a job's records are out. */
  decided({ record }: LiveJob, decisions: number): void {
    const { metrics, clock } = this.context;
    const sinceMs = Math.max(0, clock.now() - record.oldestEventMs);
    metrics.observe('event_to_decision_seconds', this.labels, sinceMs / 1000, decisions);
  }

  /** Publishes dead letters of records that never were in a job, in one transaction with progress (I2). */
  async deadLetter(letters: TerminalRecords, records: readonly UnclaimedRecord[]): Promise<void> {
    let oldestMs = Number.POSITIVE_INFINITY;
    for (const { timestampMs } of records) oldestMs = Math.min(oldestMs, timestampMs);
    await this.#publish(this.context.options.deadLetters.topic, letters, oldestMs, () => {
      for (const { held } of records) held?.drop(1);
      return this.state.deadLetter(records);
    });
    this.context.ledger.deadLetters(records);
  }

  async #publish(
    topic: string,
    chunk: TerminalRecords,
    oldestEventMs: number,
    take: () => Step,
  ): Promise<void> {
    let held: Held | undefined;
    const committed = this.queue.run(() => {
      const step = take();
      held = this.inHand.committing.hold(chunk.length, oldestEventMs);
      return {
        // A step that publishes always writes the journal: progress of the records' partitions, or the job's remainder.
        journal: step.journal as [(typeof step.journal)[number], ...typeof step.journal],
        outputs: [{ topic, records: chunk.records }],
        offsets: step.offsets,
      };
    });
    try {
      await committed;
    } catch (error) {
      // Not in `released`, which the loss of the shard booked: see ShardWorker.#end.
      if (held !== undefined) {
        this.context.ledger.released(chunk.length);
        held.drop(chunk.length);
        this.chunk.failed(chunk, error);
      }
      throw error;
    }
    this.chunk.succeeded();
    held?.drop(chunk.length);
    this.onPublished();
  }
}

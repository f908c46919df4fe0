/** Context of an owned shard, shared by its stages from the claim to the loss. */
import { ItemBatch } from '../../core/batch/item-batch.ts';
import type { LiveJob } from '../../core/journal/job.ts';
import type { ShardState } from '../../core/journal/shard-state.ts';
import type { JobContext } from '../../core/ports/pipeline-kind.ts';
import type { Logger } from '../../core/ports/telemetry.ts';
import type { SourceRecord } from '../../core/record.ts';
import { InFlight } from '../limits/in-flight.ts';
import type { WaitReason } from '../limits/wait-reasons.ts';
import type { TransactionQueue } from '../publish/transaction-queue.ts';
import { batchLinks, spanFields } from './batch-span.ts';
import { Unprepared } from './errors.ts';
import type { PipelineContext } from './pipeline-context.ts';

export interface ShardFields {
  readonly context: PipelineContext;
  readonly shard: number;
  readonly state: ShardState;
  readonly queue: TransactionQueue;
  readonly logger: Logger;
  /** Aborted when the shard is lost or given up: nothing new begins. */
  readonly signal: AbortSignal;
  /** Aborted later: uploads in flight may end until then. */
  readonly uploadSignal: AbortSignal;
  /** Runs a task; if it fails, the shard is given up and claimed again. */
  readonly spawn: (what: string, run: () => Promise<void>) => void;
}

export class ShardContext implements ShardFields {
  readonly context: PipelineContext;
  readonly shard: number;
  readonly state: ShardState;
  readonly queue: TransactionQueue;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  readonly uploadSignal: AbortSignal;
  readonly spawn: ShardFields['spawn'];
  readonly inFlight = new InFlight();
  readonly labels: { readonly pipeline: string };
  readonly who: string;

  constructor(fields: ShardFields) {
    this.context = fields.context;
    this.shard = fields.shard;
    this.state = fields.state;
    this.queue = fields.queue;
    this.logger = fields.logger;
    this.signal = fields.signal;
    this.uploadSignal = fields.uploadSignal;
    this.spawn = fields.spawn;
    this.labels = { pipeline: fields.context.options.name };
    this.who = `shard ${fields.shard}`;
  }

  /** Records that were taken and have no terminal record yet. */
  get unsettled(): number {
    return this.inFlight.records + this.state.unsettled;
  }

  /** Settles as `work` does; a long wait is reported with its reason (I8). */
  waitFor<T>(reason: WaitReason, work: Promise<T>, atMostMs?: number): Promise<T> {
    return this.context.waits.during(reason, this.who, work, atMostMs);
  }

  /** Runs `run` within a limit of the pipeline; a long wait for it is reported (I8). */
  permitted<T>(limit: keyof PipelineContext['limits'], run: () => Promise<T>): Promise<T> {
    const { waits, limits } = this.context;
    return waits.permitted(limits[limit], `${this.who}: ${limit}`, this.signal, run);
  }

  /** Observes the duration of a stage that began at `startedMs` on the monotonic clock. */
  observe(stage: string, startedMs: number): void {
    const { metrics, clock } = this.context;
    const seconds = (clock.monotonic() - startedMs) / 1000;
    metrics.observe('stage_duration_seconds', { ...this.labels, stage }, seconds);
  }

  /**
   * Resolves when these records can be decoded.
   * @throws Unprepared when that takes longer than `patienceMs`
   */
  async prepared(records: readonly SourceRecord[], patienceMs: number): Promise<void> {
    const loading = this.context.kind.prepare?.(records, this.signal);
    if (loading === undefined) return;
    const ready = this.waitFor('schema_registry', loading);
    const late = Promise.withResolvers<never>();
    const cancel = this.context.clock.after(patienceMs, () => late.reject(new Unprepared(ready)));
    await Promise.race([ready, late.promise]).finally(cancel);
  }

  /** Returns a function that starts `run`, which repeats while there is work; one run at a time. */
  repeating(what: string, hasWork: () => boolean, run: () => Promise<void>): () => void {
    let running = false;
    return () => {
      if (running) return;
      this.spawn(what, async () => {
        running = true;
        try {
          while (hasWork()) await run();
        } finally {
          running = false;
        }
      });
    };
  }

  /** Begins a batch, whose rows go into buffers of the process. @param from the job that its items leave */
  openBatch(type: string, from?: LiveJob): ItemBatch {
    const { kind, budget } = this.context;
    return new ItemBatch(type, kind.rows(budget.pool), batchLinks(this, from));
  }

  /** Facts about a job for the terminal records that are made now. */
  decisionContext({ record: { id, remoteId, type, attempt } }: LiveJob): JobContext {
    return { jobId: id, remoteId, type, attempt, decidedAtMs: this.context.clock.now() };
  }

  /** Fields of a batch in log lines. */
  fieldsOf({ record: { id, remoteId }, status }: LiveJob): object {
    return { job: id, batch: remoteId, ...spanFields(status.span) };
  }
}

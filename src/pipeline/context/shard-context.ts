/** Context of an owned shard, which its stages share from the claim to the loss. */
import { ItemBatch } from '../../core/item-batch.ts';
import type { LiveJob } from '../../core/journal/job.ts';
import type { QuotaLimits } from '../../core/journal/quota.ts';
import type { ShardState } from '../../core/journal/shard-state.ts';
import type { Lease } from '../../core/ports/memory.ts';
import type { JobContext } from '../../core/ports/pipeline-kind.ts';
import type { Labels, Logger } from '../../core/ports/telemetry.ts';
import { InFlight } from '../limits/in-flight.ts';
import { QuotaGate, type QuotaOptions } from '../limits/quota-gate.ts';
import type { ShardWaits } from '../limits/shard-waits.ts';
import { BatchSpans, batchLinks, spanFields } from './batch-spans.ts';
import { type InternalErrors, RefusedError } from './errors.ts';
import type { PipelineContext } from './pipeline-context.ts';
import type { ShardControl } from './shard-control.ts';
import type { TransactionQueue } from './transaction-queue.ts';

// Metrics, spans and log fields for the stages of a shard.

class ShardReport {
  readonly spans: BatchSpans;
  readonly internal: InternalErrors;
  readonly #context: PipelineContext;
  readonly #labels: { readonly pipeline: string };

  constructor(context: PipelineContext, shard: number) {
    this.spans = new BatchSpans({ ...context, shard });
    this.internal = context.internal;
    this.#context = context;
    this.#labels = { pipeline: context.options.name };
  }

  /** Adds to a counter of the pipeline. */
  count(name: string, labels: Labels = {}, by = 1): void {
    this.#context.metrics.count(name, { ...this.#labels, ...labels }, by);
  }

  /** Adds observations to a histogram of the pipeline (see Metrics). */
  observe(name: string, value: number, times = 1): void {
    this.#context.metrics.observe(name, this.#labels, value, times);
  }

  /** Reports the duration of a stage in ms. */
  took(stage: string, ms: number): void {
    const labels = { ...this.#labels, stage };
    this.#context.metrics.observe('stage_duration_seconds', labels, Math.max(0, ms) / 1000);
  }

  /** Reports the duration of a stage that began at `startedMs` on the monotonic clock. */
  since(stage: string, startedMs: number): void {
    this.took(stage, this.#context.clock.monotonic() - startedMs);
  }

  /** Returns the fields of a batch for log lines. */
  fieldsOf(job: LiveJob): object {
    const { id, remoteId, type } = job.record;
    return { job: id, batch: remoteId, type, ...spanFields(this.spans.of(job)) };
  }
}

export interface ShardContext extends Omit<PipelineContext, 'waits'> {
  readonly logger: Logger;
  readonly report: ShardReport;
  readonly waits: ShardWaits;
  /** Aborted when the shard is lost or given up. Nothing new may begin after that. */
  readonly signal: AbortSignal;
  /** Aborted some time after `signal`, so that uploads in flight may finish. */
  readonly uploadSignal: AbortSignal;
  readonly state: ShardState;
  readonly queue: TransactionQueue;
  /** Records in flight that are not in a job of `state`. */
  readonly inFlight: InFlight;
  readonly control: ShardControl;
  /** undefined if the pipeline has no quota. */
  readonly quota: QuotaGate | undefined;
  /** Runs a task. If the task fails, the shard is given up and claimed again. */
  readonly spawn: (what: string, run: () => Promise<void>) => void;
  /** Returns a function that starts `run` and repeats it as long as there is work. At most one run is active. */
  readonly repeating: (
    what: string,
    hasWork: () => boolean,
    run: () => Promise<void>,
  ) => () => void;
  /**
   * Opens a batch. Its rows go into buffers of the process's pool.
   * @param lease memory of the batch, which the batch releases when it is disposed of
   * @param from job that the items of the batch leave
   */
  readonly openBatch: (type: string, lease: Lease, from?: LiveJob) => ItemBatch;
}

type ShardParts = Pick<
  ShardContext,
  'control' | 'logger' | 'queue' | 'signal' | 'spawn' | 'state' | 'uploadSignal' | 'waits'
> & { readonly shard: number };

export function shardContext(context: PipelineContext, parts: ShardParts): ShardContext {
  const { budget, clock, kind, lanes, options, topics, tracer } = context;
  const { shard, spawn } = parts;
  context.calls?.claimed(1 / topics.shards, parts.signal);
  const limits = quotaShares(options.quota, topics.shards);
  const isLimited = Object.values(limits).some((limit) => limit !== Infinity);
  return {
    ...context,
    ...parts,
    report: new ShardReport(context, shard),
    inFlight: new InFlight(),
    quota: isLimited ? new QuotaGate(limits, { clock, lanes, ...parts }) : undefined,

    repeating(what, hasWork, run) {
      let running = false;
      return () => {
        if (running) return;
        spawn(what, async () => {
          running = true;
          try {
            while (hasWork()) await run();
          } finally {
            running = false;
          }
        });
      };
    },

    openBatch(type, lease, from) {
      const rows = kind.rows(budget.pool, randomKey());
      return new ItemBatch(type, rows, batchLinks(tracer, from), lease);
    },
  };
}

/** Returns each shard's part of a pipeline's quota. @throws RefusedError if the part is less than one row */
export function quotaShares(quota: QuotaOptions, shards: number): QuotaLimits {
  const share = (name: keyof QuotaLimits) => {
    const part = (quota[name] ?? Infinity) / shards;
    if (part >= 1) return part;
    throw new RefusedError(
      `quota.${name} ${quota[name]} is less than one row for each of the ${shards} shards: raise it`,
    );
  };
  return {
    rowsPerMinute: share('rowsPerMinute'),
    rowsPerDay: share('rowsPerDay'),
    rowsUnderReview: share('rowsUnderReview'),
  };
}

/** Returns the context of a job for terminal records that are created at the time `decidedAtMs`. */
export function jobContext({ record }: LiveJob, decidedAtMs: number): JobContext {
  const { id: jobId, remoteId, type, attempt, rowKey, bytes: uploadedBytes } = record;
  return { jobId, remoteId, type, attempt, rowKey, uploadedBytes, decidedAtMs };
}

const randomKey = (): string =>
  Buffer.from(crypto.getRandomValues(new Uint8Array(16))).toString('base64url');

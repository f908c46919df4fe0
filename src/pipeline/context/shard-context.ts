/** Context of an owned shard, shared by its stages from the claim to the loss. */
import { ItemBatch } from '../../core/batch/item-batch.ts';
import type { LiveJob } from '../../core/journal/job.ts';
import type { ShardState } from '../../core/journal/shard-state.ts';
import type { JobContext } from '../../core/ports/pipeline-kind.ts';
import type { Logger } from '../../core/ports/telemetry.ts';
import type { SourceRecord } from '../../core/record.ts';
import { InFlight } from '../limits/in-flight.ts';
import type { Share } from '../limits/memory-budget.ts';
import type { ShardControl } from '../limits/shard-control.ts';
import type { WaitReason } from '../limits/wait-reasons.ts';
import { BatchSpans, batchLinks, spanFields } from './batch-spans.ts';
import { Unprepared } from './errors.ts';
import type { PipelineContext } from './pipeline-context.ts';
import type { TransactionQueue } from './transaction-queue.ts';

interface ShardParts {
  readonly shard: number;
  readonly state: ShardState;
  readonly queue: TransactionQueue;
  readonly control: ShardControl;
  readonly logger: Logger;
  /** Aborted when the shard is lost or given up: nothing new begins. */
  readonly signal: AbortSignal;
  /** Aborted later: uploads in flight may end until then. */
  readonly uploadSignal: AbortSignal;
  /** Runs a task; if it fails, the shard is given up and claimed again. */
  readonly spawn: (what: string, run: () => Promise<void>) => void;
}

export type ShardContext = ReturnType<typeof shardContext>;

/** The context of the pipeline, the parts of one shard, and what its stages do alike. */
export function shardContext(context: PipelineContext, parts: ShardParts) {
  const { budget, clock, kind, limits, metrics, options, waits } = context;
  const { signal, spawn, state } = parts;
  const who = `shard ${parts.shard}`;
  const labels = { pipeline: options.name };
  const inFlight = new InFlight();
  const spans = new BatchSpans({ ...context, shard: parts.shard });

  /** Settles as `work` does; a long wait is reported with its reason (I8). */
  const waitFor = <T>(reason: WaitReason, work: Promise<T>, atMostMs?: number): Promise<T> =>
    waits.during(reason, who, work, atMostMs);

  return {
    ...context,
    ...parts,
    who,
    labels,
    inFlight,
    spans,
    waitFor,

    /** Records that were taken and have no terminal record yet. A getter would make each property slow. */
    unsettled: (): number => inFlight.records + state.unsettled,

    /** Runs `run` within a limit of the pipeline; a long wait for it is reported (I8). */
    permitted: <T>(limit: keyof typeof limits, run: () => Promise<T>): Promise<T> =>
      waits.permitted('transfer', limits[limit], `${who}: ${limit}`, signal, run),

    /** Observes the duration of a stage that began at `startedMs` on the monotonic clock. */
    observe(stage: string, startedMs: number): void {
      const seconds = (clock.monotonic() - startedMs) / 1000;
      metrics.observe('stage_duration_seconds', { ...labels, stage }, seconds);
    },

    /**
     * Resolves when these records can be decoded.
     * @throws Unprepared when that takes longer than `patienceMs`
     */
    async prepared(records: readonly SourceRecord[], patienceMs: number): Promise<void> {
      const loading = kind.prepare?.(records, signal);
      if (loading === undefined) return;
      const ready = waitFor('schema_registry', loading);
      const late = Promise.withResolvers<never>();
      const cancel = clock.after(patienceMs, () => late.reject(new Unprepared(ready)));
      await Promise.race([ready, late.promise]).finally(cancel);
    },

    /** Returns a function that starts `run`, which repeats while there is work; one run at a time. */
    repeating(what: string, hasWork: () => boolean, run: () => Promise<void>): () => void {
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

    /**
     * Begins a batch, whose rows go into buffers of the process.
     * @param share share of the memory budget that the batch counts against
     * @param from the job that its items leave
     */
    openBatch(type: string, share: Share, from?: LiveJob): ItemBatch {
      const rows = kind.rows(budget.pool, randomKey());
      return new ItemBatch(type, rows, batchLinks(context.tracer, from), budget.lease(share));
    },

    /** Facts about a job for the terminal records that are made now. */
    decisionContext({ record: { id, remoteId, type, attempt, rowKey } }: LiveJob): JobContext {
      return { jobId: id, remoteId, type, attempt, rowKey, decidedAtMs: clock.now() };
    },

    /** Fields of a batch in log lines. */
    fieldsOf(job: LiveJob): object {
      const { id, remoteId } = job.record;
      return { job: id, batch: remoteId, ...spanFields(spans.of(job)) };
    },
  };
}

const randomKey = (): string =>
  Buffer.from(crypto.getRandomValues(new Uint8Array(16))).toString('base64url');

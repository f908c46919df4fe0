/**
 * An owned shard, from its claim to its loss, as its stages see it: each constructor names the
 * interfaces that it uses.
 */
import { ItemBatch } from '../../core/batch/item-batch.ts';
import type { LiveJob } from '../../core/journal/job.ts';
import type { ShardState } from '../../core/journal/shard-state.ts';
import type { Lease } from '../../core/ports/memory.ts';
import type { JobContext } from '../../core/ports/pipeline-kind.ts';
import type { Logger } from '../../core/ports/telemetry.ts';
import { InFlight } from '../limits/in-flight.ts';
import type { ShardControl } from '../limits/shard-control.ts';
import type { ShardWaits } from '../limits/shard-waits.ts';
import { batchLinks } from './batch-spans.ts';
import type { PipelineContext } from './pipeline-context.ts';
import { ShardReport } from './shard-report.ts';
import type { TransactionQueue } from './transaction-queue.ts';

/** Options, time, reports, and the life of the shard. */
export interface ShardLife extends Pick<PipelineContext, 'options' | 'clock' | 'random'> {
  readonly logger: Logger;
  readonly report: ShardReport;
  readonly waits: ShardWaits;
  /** Aborted when the shard is lost or given up: nothing new begins. */
  readonly signal: AbortSignal;
  /** Runs a task; if it fails, the shard is given up and claimed again. */
  readonly spawn: (what: string, run: () => Promise<void>) => void;
  /** Returns a function that starts `run`, which repeats while there is work; one run at a time. */
  readonly repeating: (
    what: string,
    hasWork: () => boolean,
    run: () => Promise<void>,
  ) => () => void;
}

/** Journal of the shard, and its records until they are in a transaction. */
export interface ShardJournal extends Pick<PipelineContext, 'ledger' | 'topics'> {
  readonly state: ShardState;
  readonly queue: TransactionQueue;
  readonly inFlight: InFlight;
}

/** The service, and what may stop calls to it. */
export interface ServiceAccess extends Pick<PipelineContext, 'kind' | 'breakers' | 'group'> {
  readonly control: ShardControl;
  /** Aborted after `signal`: uploads in flight may end until then. */
  readonly uploadSignal: AbortSignal;
}

/** The source topic, and memory for its records. */
export interface SourceAccess
  extends Pick<PipelineContext, 'admin' | 'reader' | 'ends' | 'group' | 'budget' | 'typeLimit'>,
    Pick<PipelineContext, 'kind' | 'metrics'> {
  /**
   * Begins a batch, whose rows go into buffers of the process.
   * @param lease memory of the batch, which the batch owns
   * @param from the job that its items leave
   */
  readonly openBatch: (type: string, lease: Lease, from?: LiveJob) => ItemBatch;
}

export type ShardContext = ShardLife & ShardJournal & ServiceAccess & SourceAccess;

type ShardParts = Pick<ShardLife, 'logger' | 'signal' | 'spawn' | 'waits'> &
  Pick<ShardJournal, 'state' | 'queue'> &
  Pick<ServiceAccess, 'control' | 'uploadSignal'> & { readonly shard: number };

export function shardContext(context: PipelineContext, parts: ShardParts): ShardContext {
  const { budget, kind, tracer } = context;
  const { shard, spawn } = parts;
  return {
    ...context,
    ...parts,
    report: new ShardReport(context, shard),
    inFlight: new InFlight(),

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

/** Facts about a job for the terminal records that are made at `decidedAtMs`. */
export function jobContext({ record }: LiveJob, decidedAtMs: number): JobContext {
  const { id: jobId, remoteId, type, attempt, rowKey, bytes: uploadedBytes } = record;
  return { jobId, remoteId, type, attempt, rowKey, uploadedBytes, decidedAtMs };
}

const randomKey = (): string =>
  Buffer.from(crypto.getRandomValues(new Uint8Array(16))).toString('base64url');

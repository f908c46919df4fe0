/**
 * Worker of one shard, from its claim to its loss. A worker is never reused. After any failure it
 * is discarded with its state, and the next one reads the journal.
 *
 *   new ──start──► claiming ──► owner ──► over
 *                     └──────────────────► over   (lost, released, refused)
 */
import { crashOf } from '../../core/outcome/internal-error.ts';
import type { FetchedBatch, ShardProducer } from '../../core/ports/kafka.ts';
import type { Logger } from '../../core/ports/telemetry.ts';
import type { SourceCoordinate } from '../../core/record.ts';
import { ShardLostError } from '../context/errors.ts';
import type { PipelineContext } from '../context/pipeline-context.ts';
import { shardContext } from '../context/shard-context.ts';
import { ShardControl } from '../context/shard-control.ts';
import type { ChunkSize } from '../context/terminal-writer.ts';
import { QueueClosedError, TransactionQueue } from '../context/transaction-queue.ts';
import { earliest, type InFlightCount } from '../limits/in-flight.ts';
import type { QuotaLeft } from '../limits/quota-gate.ts';
import { ShardWaits } from '../limits/shard-waits.ts';
import { LONG_MS } from '../limits/wait-reasons.ts';
import { claimShard, ownerRecord } from './claim.ts';
import { JournalRecovery } from './journal-recovery.ts';
import { type JobReport, type LaneReport, OwnedShard } from './owned-shard.ts';

/** Interval at which an owner checks progress, ownership and health. */
const TICK_MS = 1000;

export interface WorkerReport {
  readonly owner: boolean;
  readonly inFlight: number;
  readonly buffered: number;
  readonly lag: number;
  /** Time at which all partition ends were last known (monotonic clock, ms). Infinity if there are no partitions. */
  readonly endsHeardMs: number;
  /** Timestamp of the oldest record in flight in ms. Infinity if there is none. */
  readonly oldestEventMs: number;
  readonly lanes: ReadonlyMap<string, LaneReport>;
  /** Remaining rows of the quota. undefined if there is no quota. */
  readonly quota?: QuotaLeft | undefined;
  readonly jobs: readonly JobReport[];
  /** undefined if the worker is not the owner. */
  readonly control?: ShardControl;
}

export class ShardWorker {
  readonly partitions: readonly number[];
  readonly #context: PipelineContext;
  readonly #shard: number;
  readonly #size: ChunkSize;
  readonly #onOver: (error: unknown, places: readonly SourceCoordinate[]) => void;
  readonly #logger: Logger;
  readonly #abort = new AbortController();
  readonly #uploadAbort = new AbortController();
  readonly #producer: ShardProducer;
  readonly #queue: TransactionQueue;
  readonly #recovery: JournalRecovery;
  readonly #running = new Set<Promise<void>>();
  readonly #waits: ShardWaits;
  #owned: OwnedShard | undefined;
  /** Records in the transaction that was running when the shard was lost. */
  #committing: InFlightCount | undefined;
  #cancelTick: (() => void) | undefined;
  #over = false;
  #drained: Promise<void> = Promise.resolve();

  /**
   * @param onOver called once, when the worker has ended. After a RefusedError or
   * JournalFormatError, the pipeline must not continue. After any other error, the shard may be
   * claimed again. `places`: the position at which intake failed, or the watermarks if it did not
   */
  constructor(
    context: PipelineContext,
    shard: number,
    partitions: readonly number[],
    size: ChunkSize,
    onOver: (error: unknown, places: readonly SourceCoordinate[]) => void,
  ) {
    const { group, clock, health, metrics, options } = context;
    this.partitions = partitions;
    this.#context = context;
    this.#shard = shard;
    this.#size = size;
    this.#onOver = onOver;
    this.#waits = new ShardWaits(context, shard, this.#abort.signal);
    this.#logger = context.logger.child({ shard });
    this.#producer = context.producers.open(shard);
    this.#queue = new TransactionQueue(this.#producer, {
      ...{ clock, health, metrics, shard, waits: this.#waits, pipeline: options.name },
      transactionTimeoutMs: options.kafka.transactionTimeoutMs,
      onFailure: (error) => this.#end(error),
    });
    const { topic } = options.journal;
    this.#recovery = new JournalRecovery({ group, clock, logger: this.#logger, topic, shard });
  }

  start(): void {
    this.#spawn('claim', () => this.#claim());
    this.#tick();
  }

  /** Resumes in a new generation with the same shard. All partitions are then paused and have no position. */
  rejoined(): void {
    this.#recovery.rejoined();
    if (this.#owned === undefined) return;
    this.#owned.intake.rejoined();
    this.#confirmOwnership();
  }

  fetched(batch: FetchedBatch): void {
    if (this.#over) return;
    if (batch.stream === 'journal') this.#recovery.fetched(batch);
    else this.#owned?.intake.fetched(batch);
  }

  /** Gives up the shard. Uploads in flight may finish. @param stops true to commit progress first */
  async release(reason: string, stops = false): Promise<void> {
    const state = stops ? this.#owned?.shard.state : undefined;
    const closed = this.#queue.close(() => state?.progressOnly({ positions: true }));
    this.#end(new ShardLostError(reason));
    await closed;
  }

  /** Resolves when all tasks have ended. Valid only once the worker itself has ended. */
  get drained(): Promise<void> {
    return this.#drained;
  }

  /** Aborts uploads that are still in flight. */
  abandonUploads(): void {
    this.#uploadAbort.abort(new ShardLostError('the connector is stopping'));
  }

  /** The owned shard. undefined if the worker is not the owner. */
  get owned(): OwnedShard | undefined {
    return this.#owned;
  }

  /** Last failure of a transaction that has been retried for long. undefined if there is none. */
  get trouble(): string | undefined {
    const { runningSinceMs = Infinity } = this.#queue;
    const isLong = this.#context.clock.monotonic() - runningSinceMs >= LONG_MS;
    return isLong ? this.#producer.trouble : undefined;
  }

  report(): WorkerReport {
    if (this.#owned === undefined) {
      // The lag of a shard is unknown until the shard has been claimed. After a loss, the next owner reports it.
      const endsHeardMs = this.#over ? Infinity : -Infinity;
      const { records: inFlight = 0, oldestEventMs = Infinity } = this.#committing ?? {};
      const none = { buffered: 0, lag: 0, lanes: new Map(), jobs: [] };
      return { owner: false, inFlight, oldestEventMs, endsHeardMs, ...none };
    }
    const { shard, intake, jobs, lanes, unsettled } = this.#owned;
    const { buffered, unassigned, committing } = shard.inFlight;
    return {
      owner: true,
      inFlight: unsettled,
      buffered,
      lag: intake.lag,
      endsHeardMs: intake.endsHeardMs,
      oldestEventMs: earliest([
        ...[...lanes.values()].map(({ oldestEventMs }) => oldestEventMs),
        unassigned.oldestEventMs,
        committing.oldestEventMs,
      ]),
      lanes,
      quota: shard.quota?.left,
      jobs,
      control: shard.control,
    };
  }

  async #claim(): Promise<void> {
    const { signal } = this.#abort;
    const context = this.#context;
    const { clock, metrics, options } = context;
    const waits = this.#waits;
    const startedMs = clock.monotonic();
    const parts = {
      shard: this.#shard,
      queue: this.#queue,
      logger: this.#logger,
      signal,
    };
    const { partitions } = this;
    const recovery = this.#recovery;
    const claimed = waits.permitted('claims', () =>
      claimShard({ ...context, ...parts, partitions, recovery }),
    );
    const state = await waits.while('kafka', claimed);
    signal.throwIfAborted();
    const { control: known, acknowledged } = recovery.follow((next) => control.apply(next));
    const about = { clock, waits, logger: this.#logger, signal };
    const control = new ShardControl(about, known, acknowledged);
    const shard = shardContext(context, {
      ...parts,
      control,
      state,
      waits,
      uploadSignal: this.#uploadAbort.signal,
      spawn: (what, run) => this.#spawn(what, run),
    });
    this.#owned = new OwnedShard(shard, this.#size);
    this.#owned.start();
    metrics.count('claims_total', { pipeline: options.name, outcome: 'owned' });
    const found = { jobs: state.jobs.size, items: state.unsettled };
    this.#logger.info({ ...found, ms: clock.monotonic() - startedMs }, 'owns the shard');
  }

  #tick(): void {
    const { clock, options } = this.#context;
    this.#cancelTick = clock.after(TICK_MS, () => this.#tick());
    const nowMs = clock.monotonic();
    if (this.#owned === undefined) return;
    this.#owned.acknowledge();
    const { progressIntervalMs, ownershipCheckIntervalMs } = options;
    if (nowMs - this.#owned.lastProgressMs >= progressIntervalMs) this.#owned.commitProgress();
    if (
      this.#queue.runningSinceMs === undefined &&
      nowMs - this.#queue.lastCommitMs >= ownershipCheckIntervalMs
    )
      this.#confirmOwnership();
  }

  /** Confirms the ownership with a commit, which fails if another owner has fenced this one. */
  #confirmOwnership(): void {
    this.#spawn('ownership', async () => {
      await this.#queue.run(() => ownerRecord(this.#context));
    });
  }

  #spawn(what: string, run: () => Promise<void>): void {
    if (this.#over) return;
    const task = run().catch((error: unknown) => {
      if (this.#over || error instanceof QueueClosedError) return;
      const taking = what === 'intake' ? this.#owned?.intake.taking : undefined;
      this.#end(error instanceof Error ? error : new Error(`${what}: ${crashOf(error)}`), taking);
    });
    this.#running.add(task);
    void task.finally(() => this.#running.delete(task));
  }

  #end(error: unknown, taking?: SourceCoordinate): void {
    if (this.#over) return;
    this.#over = true;
    const { clock, ledger, metrics, options } = this.#context;
    this.#cancelTick?.();
    let places: readonly SourceCoordinate[] = [];
    if (this.#owned === undefined) {
      metrics.count('claims_total', { pipeline: options.name, outcome: 'failed' });
    } else {
      const { intake, shard, unsettled } = this.#owned;
      const { inFlight, state } = shard;
      const marks = [...state.partitions.values()].map(({ partition, watermark: offset }) => ({
        partition,
        offset,
      }));
      places = taking === undefined ? marks : [taking];
      // Records in the running transaction are booked when it ends.
      this.#committing = inFlight.committing;
      ledger.released(unsettled - inFlight.committing.records);
      intake.stop();
      shard.report.spans.handOver();
      this.#owned = undefined;
    }
    this.#abort.abort(error);
    this.#recovery.stop();
    const cancel = clock.after(options.uploadDrainMs, () => this.abandonUploads());
    const closed = this.#queue.close();
    const producerClosed = closed.then(() => this.#producer.close());
    this.#drained = Promise.all([producerClosed, ...this.#running]).then(cancel);
    this.#onOver(error, places);
  }
}

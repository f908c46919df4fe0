/**
 * The owner of one shard, from its claim to its loss (DESIGN 3). A worker is never reused: whatever goes wrong, it is thrown
 * away with all it knows, and the next one reads the journal.
 *
 *   new ──start──► claiming ──► owner ──► over
 *                     └──────────────────► over   (lost, released, refused)
 */

import { writeOwner } from '../../core/journal/journal-records.ts';
import type { PartitionState } from '../../core/journal/partition-state.ts';
import { crashOf } from '../../core/outcome/internal-error.ts';
import { type FetchedBatch, type ShardProducer, TransactionError } from '../../core/ports/kafka.ts';
import type { JobPhase } from '../../core/ports/pipeline-view.ts';
import type { Logger } from '../../core/ports/telemetry.ts';
import type { SourceCoordinate } from '../../core/record.ts';
import { RefusedError, ShardLostError } from '../context/errors.ts';
import type { PipelineContext } from '../context/pipeline-context.ts';
import { ShardContext } from '../context/shard-context.ts';
import type { InFlight } from '../limits/in-flight.ts';
import type { ChunkSize } from '../publish/chunk-size.ts';
import { QueueClosedError, TransactionQueue } from '../publish/transaction-queue.ts';
import type { Intake } from '../stages/intake.ts';
import { claimShard } from './claim.ts';
import { JournalRecovery } from './journal-recovery.ts';
import { startStages } from './stages.ts';

/** How often an owner looks at its clocks: progress, probe, health. */
const TICK_MS = 1000;
/** A transaction is not called stuck before this, however short its timeout is. */
const MIN_TRANSACTION_MS = 180_000;

export interface WorkerReport {
  readonly owner: boolean;
  readonly inFlight: number;
  readonly buffered: number;
  readonly lag: number;
  /** Timestamp of the oldest record without a terminal record, ms; Infinity when there is none. */
  readonly oldestEventMs: number;
  readonly jobs: ReadonlyMap<JobPhase, number>;
  /** Wall clock, ms: when the oldest batch of each phase was created. */
  readonly oldestJobMs: ReadonlyMap<JobPhase, number>;
}

/** What an owner works with. */
export interface OwnedShard {
  readonly runtime: ShardContext;
  readonly intake: Intake;
  /** Wall clock, ms: when the claim was through. */
  readonly sinceMs: number;
}

export class ShardWorker {
  readonly #context: PipelineContext;
  readonly #shard: number;
  readonly #partitions: readonly number[];
  readonly #chunk: ChunkSize;
  readonly #onOver: (error: unknown, places: readonly SourceCoordinate[]) => void;
  readonly #logger: Logger;
  readonly #abort = new AbortController();
  readonly #uploadAbort = new AbortController();
  readonly #producer: ShardProducer;
  readonly #queue: TransactionQueue;
  readonly #replay: JournalRecovery;
  readonly #running = new Set<Promise<void>>();
  #owned: OwnedShard | undefined;
  /** Of the shard that was owned: its last transaction may still be in hand. */
  #inHand: InFlight | undefined;
  #lastProgressMs = 0;
  #cancelTick: (() => void) | undefined;
  /** Something of this worker never ended: said once, from when on its loop is silent. */
  #stuck = false;
  #over = false;
  #drained: Promise<void> = Promise.resolve();

  /**
   * @param onOver is called once, when the worker ended by itself: with a RefusedError or JournalFormatError when nobody
   * must go on, with anything else when the shard may be claimed again. `places`: where intake failed, or else the watermarks.
   */
  constructor(
    context: PipelineContext,
    shard: number,
    partitions: readonly number[],
    chunk: ChunkSize,
    onOver: (error: unknown, places: readonly SourceCoordinate[]) => void,
  ) {
    this.#context = context;
    this.#shard = shard;
    this.#partitions = partitions;
    this.#chunk = chunk;
    this.#onOver = onOver;
    this.#logger = context.logger.child({ shard });
    this.#producer = context.producers.open(shard);
    this.#queue = new TransactionQueue(this.#producer, {
      clock: context.clock,
      metrics: context.metrics,
      waits: context.waits,
      pipeline: context.options.name,
      who: `shard ${shard}`,
      onFailure: (error) => this.#end(error),
    });
    this.#replay = new JournalRecovery({
      group: context.group,
      clock: context.clock,
      topic: context.options.journal.topic,
      shard,
    });
  }

  get partitions(): readonly number[] {
    return this.#partitions;
  }

  start(): void {
    this.#spawn('claim', () => this.#claim());
    this.#tick();
  }

  /** A new generation in which the shard is still ours; everything is paused and the positions are forgotten. */
  rejoined(): void {
    if (this.#owned === undefined) {
      this.#replay.rejoined();
      return;
    }
    this.#owned.intake.rejoined();
    this.#spawn('probe', () => this.#probe());
  }

  fetched(batch: FetchedBatch): void {
    if (this.#over) return;
    if (batch.stream === 'journal') this.#replay.fetched(batch);
    else this.#owned?.intake.fetched(batch);
  }

  /** Gives the shard up: the transaction in hand ends, uploads under way may end, nothing new begins. */
  async release(reason: string): Promise<void> {
    this.#end(new ShardLostError(reason));
    await this.#queue.close();
  }

  /** Resolves, once the worker is over, when nothing of it runs any more. */
  get drained(): Promise<void> {
    return this.#drained;
  }

  /** Ends uploads that still run. */
  abandonUploads(): void {
    this.#uploadAbort.abort(new ShardLostError('the connector stops'));
  }

  /** To look at, not to change; undefined while this is not the owner. */
  get owned(): OwnedShard | undefined {
    return this.#owned;
  }

  report(): WorkerReport {
    if (this.#owned === undefined) {
      const { records: inFlight = 0, oldestEventMs = Number.POSITIVE_INFINITY } =
        this.#inHand?.committing ?? {};
      return {
        owner: false,
        inFlight,
        buffered: 0,
        lag: 0,
        oldestEventMs,
        jobs: new Map(),
        oldestJobMs: new Map(),
      };
    }
    const { runtime, intake } = this.#owned;
    const { inFlight, inHand } = runtime;
    let oldestEventMs = Math.min(intake.oldestEventMs, inHand.oldestEventMs);
    const jobs = new Map<JobPhase, number>();
    const oldestJobMs = new Map<JobPhase, number>();
    for (const [id, job] of runtime.state.jobs) {
      oldestEventMs = Math.min(oldestEventMs, job.record.oldestEventMs);
      const phase = runtime.jobs.get(id)?.phase ?? 'uploading';
      jobs.set(phase, (jobs.get(phase) ?? 0) + 1);
      oldestJobMs.set(
        phase,
        Math.min(oldestJobMs.get(phase) ?? Number.POSITIVE_INFINITY, job.record.createdMs),
      );
    }
    return {
      owner: true,
      inFlight,
      buffered: inHand.buffered,
      lag: intake.lag,
      oldestEventMs,
      jobs,
      oldestJobMs,
    };
  }

  async #claim(): Promise<void> {
    const context = this.#context;
    const { options, clock } = context;
    const startedMs = clock.monotonic();
    const waited = context.waits.begin('claim', `shard ${this.#shard}`);
    try {
      const who = `shard ${this.#shard}: claims`;
      const state = await context.waits.permitted(
        context.limits.claims,
        who,
        this.#abort.signal,
        () =>
          claimShard(
            context,
            {
              shard: this.#shard,
              partitions: this.#partitions,
              replay: this.#replay,
              queue: this.#queue,
              logger: this.#logger,
            },
            this.#abort.signal,
          ),
      );
      this.#abort.signal.throwIfAborted();
      this.#own(
        new ShardContext({
          context,
          shard: this.#shard,
          state,
          queue: this.#queue,
          logger: this.#logger,
          signal: this.#abort.signal,
          uploadSignal: this.#uploadAbort.signal,
          chunk: this.#chunk,
          spawn: (what, run) => this.#spawn(what, run),
        }),
      );
      context.metrics.count('claims_total', { pipeline: options.name, outcome: 'owned' });
      this.#logger.info(
        { jobs: state.jobs.size, items: state.unsettled, ms: clock.monotonic() - startedMs },
        'owns the shard',
      );
    } finally {
      waited();
    }
  }

  #own(runtime: ShardContext): void {
    const { clock } = this.#context;
    const intake = startStages(runtime, {
      journaled: () => {
        this.#lastProgressMs = clock.monotonic();
      },
      commitProgress: () => this.#spawn('progress', () => this.#commitProgress()),
    });
    this.#owned = { runtime, intake, sinceMs: clock.now() };
    this.#lastProgressMs = clock.monotonic();
    intake.resume();
  }

  #tick(): void {
    const { clock, health, options } = this.#context;
    this.#cancelTick = clock.after(TICK_MS, () => this.#tick());
    const runningSinceMs = this.#queue.runningSinceMs;
    const nowMs = clock.monotonic();
    // A transaction has its own timeouts: one that outlives them twice is stuck, and only then does this loop fall silent.
    if (runningSinceMs !== undefined) {
      if (nowMs < runningSinceMs + this.#maxTransactionMs)
        health.waiting(
          this.#loop,
          'a Kafka transaction',
          runningSinceMs + this.#maxTransactionMs - nowMs,
        );
    } else if (this.#owned === undefined) health.waiting(this.#loop, 'claiming the shard');
    else if (this.#owned.runtime.overdue === undefined) health.beat(this.#loop);
    else if (!this.#stuck)
      health.waiting(
        this.#loop,
        `${this.#owned.runtime.overdue}: nothing outside can hold this up`,
        0,
      );
    this.#stuck = this.#owned?.runtime.overdue !== undefined;
    if (this.#owned === undefined) return;
    if (nowMs - this.#lastProgressMs >= options.kafka.progressIntervalMs)
      this.#spawn('progress', () => this.#commitProgress());
    if (
      nowMs - this.#queue.lastCommitMs >= options.kafka.ownershipCheckIntervalMs &&
      runningSinceMs === undefined
    )
      this.#spawn('probe', () => this.#probe());
  }

  async #commitProgress(): Promise<void> {
    const state = this.#owned?.runtime.state;
    this.#lastProgressMs = this.#context.clock.monotonic();
    await this.#queue.run(() => {
      const step = state?.progressOnly({ positions: true });
      const [head, ...rest] = step?.journal ?? [];
      return head && { journal: [head, ...rest], offsets: step?.offsets ?? [] };
    });
    this.#owned?.intake.roomMade();
  }

  /** Proves that the shard is still ours: the commit fails if somebody else fenced us. */
  async #probe(): Promise<void> {
    const { clock, instance, random } = this.#context;
    await this.#queue.run(() => ({
      journal: [writeOwner({ instance, claim: random.id(), atMs: clock.now() })],
    }));
  }

  /** Longer than any transaction may take: the producer gives up at the transaction timeout. */
  get #maxTransactionMs(): number {
    return Math.max(MIN_TRANSACTION_MS, 2 * this.#context.options.kafka.transactionTimeoutMs);
  }

  get #loop(): string {
    return `${this.#context.options.name}/shard-${this.#shard}`;
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

  /** A transaction in hand holds permits and memory that others wait for, also when the shard is not ours any more. */
  #watchEnding(closed: Promise<void>): void {
    const { clock, health } = this.#context;
    const { runningSinceMs } = this.#queue;
    if (runningSinceMs === undefined) return;
    const loop = `${this.#loop}/ended-${clock.now()}`;
    health.waiting(
      loop,
      'a Kafka transaction',
      Math.max(0, runningSinceMs + this.#maxTransactionMs - clock.monotonic()),
    );
    void closed.then(() => health.ended(loop));
  }

  #end(error: unknown, taking?: SourceCoordinate): void {
    if (this.#over) return;
    this.#over = true;
    const { clock, metrics, options, health } = this.#context;
    this.#cancelTick?.();
    health.ended(this.#loop);
    // Kafka's definite no to a claim (a missing permission) will be the same next time.
    const refused =
      this.#owned === undefined && error instanceof TransactionError && error.failure === 'rejected'
        ? new RefusedError(`Kafka refuses to let this connector write: ${error.message}`, {
            cause: error,
          })
        : undefined;
    if (this.#owned === undefined)
      metrics.count('claims_total', { pipeline: options.name, outcome: 'failed' });
    let places: readonly SourceCoordinate[] = [];
    if (this.#owned !== undefined) {
      const { partitions } = this.#owned.runtime.state;
      places = taking === undefined ? [...partitions.values()].map(watermarkOf) : [taking];
      // What is in a transaction right now is booked when that ends, one way or the other.
      const { inFlight, inHand } = this.#owned.runtime;
      this.#context.ledger.released(inFlight - inHand.committing.records);
      this.#inHand = inHand;
      this.#owned.intake.stop();
      this.#owned.runtime.handOver();
      this.#owned = undefined;
    }
    this.#abort.abort(error);
    this.#replay.stop();
    const cancel = clock.after(options.uploadDrainMs, () => this.abandonUploads());
    const closed = this.#queue.close();
    this.#watchEnding(closed);
    this.#drained = Promise.all([closed.then(() => this.#producer.close()), ...this.#running]).then(
      cancel,
    );
    this.#onOver(refused ?? error, places);
  }
}

const watermarkOf = ({ partition, watermark }: PartitionState): SourceCoordinate => ({
  partition,
  offset: watermark,
});

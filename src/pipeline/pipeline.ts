/**
 * One pipeline in this process: a member of the consumer group, with one worker for each shard that
 * the group assigns to it.
 */
import pLimit from 'p-limit';
import { settledWithin } from '../../packages/client/src/base/abortable.ts';
import type { PipelineView } from '../core/pipeline-view.ts';
import type { Assignment, FetchedBatch } from '../core/ports/kafka.ts';
import { EndOffsets } from './context/end-offsets.ts';
import { describe, InternalErrors, RefusedError, refusalOf } from './context/errors.ts';
import { Ledger } from './context/ledger.ts';
import type { PipelineOptions } from './context/options.ts';
import type { PipelineContext, PipelinePorts } from './context/pipeline-context.ts';
import { ChunkSize } from './context/terminal-writer.ts';
import { guardedKind } from './guarded-kind.ts';
import { inTurn, Lanes } from './limits/lanes.ts';
import type { MemoryBudget } from './limits/memory-budget.ts';
import { ShardWaits } from './limits/shard-waits.ts';
import { TypeBreakers, TypeLimit } from './limits/type-breakers.ts';
import { WaitReasons } from './limits/wait-reasons.ts';
import { lagOf, publishGauges, shardProblems } from './pipeline-gauges.ts';
import { viewPipeline } from './pipeline-view.ts';
import { Losses } from './shard/losses.ts';
import { journalResized, prepareTopics } from './shard/prepare-topics.ts';
import { ShardWorker } from './shard/worker.ts';

const REPORT_MS = 1000;
/** Maximum waits during a stop, first for transactions and then for uploads, before the member leaves the group. */
const TRANSACTIONS_MS = 2_000;
const UPLOADS_MS = 1_000;

interface Slot {
  worker: ShardWorker | undefined;
  readonly size: ChunkSize;
  readonly losses: Losses;
}

export class Pipeline {
  readonly #ports: PipelinePorts;
  readonly #options: PipelineOptions;
  readonly #budget: MemoryBudget;
  readonly #onRefused: (error: Error) => void;
  readonly #slots = new Map<number, Slot>();
  /** Source partitions by shard, in the newest generation. */
  #assigned: ReadonlyMap<number, readonly number[]> = new Map();
  #context: PipelineContext | undefined;
  readonly #stopping = new AbortController();
  readonly #retired = new Set<ShardWorker>();
  /** Reason why this process has left the group, if it has. */
  #leftBecause: string | undefined;
  #cancelReport: (() => void) | undefined;
  /** True once this process has owned a shard. Claims that Kafka rejects are then repeated. */
  #hasOwned = false;
  /** Reports partitions as waiting because they cannot be read. */
  #hold: ((who: readonly string[]) => void) | undefined;
  /** Lag of the pipeline. undefined if unknown. */
  #lag: number | undefined;

  /** @param onRefused called if the pipeline must not continue and should be stopped */
  constructor(
    ports: PipelinePorts,
    options: PipelineOptions,
    budget: MemoryBudget,
    onRefused: (error: Error) => void,
  ) {
    this.#ports = ports;
    this.#options = { ...options };
    this.#budget = budget;
    this.#onRefused = onRefused;
    // Set before the start, because the process is ready only once every pipeline has joined its group.
    ports.health.notReady(
      this.#condition,
      'not reached yet: waiting for the service and the schemas',
    );
  }

  /** Resolves once the group has been joined. @throws RefusedError, or an error of Kafka */
  async start(): Promise<void> {
    const options = this.#options;
    const { name, concurrency, source } = options;
    const { admin, clock, group, kind, logger, metrics, random } = this.#ports;
    const topics = await prepareTopics(admin, options, logger, clock);
    const about = { metrics, pipeline: name, clock, logger };
    const waits = new WaitReasons(about);
    this.#hold = waits.holding('kafka');
    const internal = new InternalErrors(about);
    const owned = () => this.#ownedPartitions();
    const ends = new EndOffsets({ admin, clock, logger, waits, topic: source.topic, owned });
    this.#context = {
      ...this.#ports,
      kind: guardedKind(kind, internal),
      internal,
      options,
      instance: random.id(),
      budget: this.#budget,
      ledger: new Ledger(metrics, name),
      waits,
      ends,
      breakers: new TypeBreakers({ clock, logger, waits, pauseMs: options.review.pauseMs }),
      lanes: new Lanes(options.lanes, options.objective.ageMs),
      typeLimit: new TypeLimit(options.maxTypes, logger),
      limits: {
        // Encoding uses one thread, so encoding two bodies concurrently would only take more memory.
        encodes: inTurn(pLimit(1)),
        uploads: inTurn(pLimit(concurrency.transfers)),
        polls: pLimit(concurrency.requests),
        downloads: pLimit(concurrency.transfers),
        claims: pLimit(options.claims),
        // One at a time, because each fetch takes memory.
        backlogs: pLimit(1),
      },
      topics,
    };
    await group.start({
      joined: (assignment) => this.#joined(assignment),
      fetched: (batch) => this.#fetched(batch),
      left: (reason) => this.#left(reason),
    });
    if (this.#stopping.signal.aborted) return;
    this.#report();
    ends.start();
  }

  /**
   * Stops intake, waits for running transactions, and leaves the group. Jobs continue at the
   * service, and the next owner resumes them. Idempotent.
   */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the connector is stopping'));
    this.#cancelReport?.();
    this.#context?.ends.stop();
    this.#assigned = new Map();
    // A call that hangs must not keep this member in the group, because other members would wait for its shards.
    const released = [...this.#slots.values()].map(({ worker }) =>
      worker?.release('the connector is stopping', true),
    );
    const { clock } = this.#ports;
    await settledWithin(Promise.all(released), TRANSACTIONS_MS, clock);
    this.#publish();
    const drained = [...this.#retired].map((worker) => worker.drained);
    await settledWithin(Promise.all(drained), UPLOADS_MS, clock);
    for (const worker of this.#retired) worker.abandonUploads();
    await this.#ports.group.stop();
    await this.#ports.reader.close();
  }

  /** Changes the reloadable options, which the stages of the owned shards read again. */
  reload(options: PipelineOptions): void {
    Object.assign(this.#options, options);
    const { lanes, objective, quota } = options;
    this.#context?.lanes.change(lanes, objective.ageMs);
    if (quota.callsPerSecond !== undefined) this.#ports.calls?.change(quota.callsPerSecond);
    for (const { worker } of this.#slots.values()) worker?.owned?.reloaded();
  }

  /** Returns the current state for the console. Takes time proportional to the number of live jobs. */
  view(): PipelineView {
    const slots = [...this.#assigned.keys()]
      .sort((a, b) => a - b)
      .map((shard) => ({ shard, ...this.#slots.get(shard) }));
    return viewPipeline({
      options: this.#options,
      context: this.#context,
      lag: this.#lag,
      slots,
    });
  }

  #joined(assignment: Assignment): void {
    if (this.#stopping.signal.aborted) return;
    const shardCount = this.#context?.topics.shards;
    if (shardCount !== undefined && assignment.shardCount !== shardCount) {
      this.#refuse(journalResized(this.#options, shardCount, assignment.shardCount));
      return;
    }
    this.#assigned = assignment.shards;
    this.#ports.metrics.count('rebalances_total', { pipeline: this.#options.name });
    this.#ports.logger.info(
      { generation: assignment.generation, shards: [...assignment.shards.keys()] },
      'joined the group',
    );
    for (const [shard, slot] of this.#slots) {
      if (!assignment.shards.has(shard))
        this.#giveUp(slot, 'the group assigned the shard to another instance');
    }
    for (const [shard, partitions] of assignment.shards) {
      const slot = this.#slot(shard);
      if (slot.worker !== undefined && String(slot.worker.partitions) !== String(partitions)) {
        this.#giveUp(slot, 'source partitions were added to the shard');
      }
      if (slot.worker === undefined) this.#claim(shard, slot, partitions);
      else slot.worker.rejoined();
    }
    this.#leftBecause = undefined;
    this.#publishReadiness();
  }

  #fetched(batch: FetchedBatch): void {
    const shards = this.#context?.topics.shards ?? 1;
    const shard = batch.stream === 'journal' ? batch.partition : batch.partition % shards;
    this.#slots.get(shard)?.worker?.fetched(batch);
  }

  #left(reason: string): void {
    // Workers keep their shards, because a new owner would fence them. Uploads wait for the group.
    if (this.#leftBecause === undefined)
      this.#ports.logger.warn({ reason }, 'left the consumer group');
    this.#leftBecause = reason;
    this.#publishReadiness();
  }

  /**
   * Returns the reason why this process is not a member of the group, or undefined if it is one.
   * Heartbeats are checked too, because a frozen broker does not close its connections.
   */
  #absence(): string | undefined {
    const { clock, group } = this.#ports;
    const { source, kafka } = this.#options;
    if (this.#leftBecause !== undefined)
      return `not a member of group ${source.group}: ${this.#leftBecause}`;
    const silentMs = clock.monotonic() - group.lastHeardMs();
    if (silentMs < kafka.sessionTimeoutMs) return undefined;
    return `the brokers have not responded to group ${source.group} for ${Math.floor(silentMs / 1000)} s: are they up, and can they be reached?`;
  }

  /** Returns the partitions of the owned shards. Empty while this process is not a member of the group. */
  #ownedPartitions(): number[] {
    if (this.#absence() !== undefined) return [];
    return [...this.#slots.values()].flatMap(({ worker }) =>
      worker?.owned === undefined ? [] : worker.partitions,
    );
  }

  get #condition(): string {
    return `${this.#options.name}/kafka`;
  }

  #publishReadiness(): void {
    const { health } = this.#ports;
    const absence = this.#absence();
    const assigned = [...this.#assigned.keys()];
    const problems = shardProblems(assigned, this.#slots, this.#unread());
    if (absence !== undefined) problems.unshift(absence);
    if (problems.length === 0) health.ready(this.#condition);
    else health.notReady(this.#condition, problems.join('; '));
  }

  #slot(shard: number): Slot {
    let slot = this.#slots.get(shard);
    if (slot === undefined) {
      const size = new ChunkSize(this.#options.chunk);
      slot = { worker: undefined, size, losses: new Losses() };
      this.#slots.set(shard, slot);
    }
    return slot;
  }

  #giveUp(slot: Slot, reason: string): void {
    const { worker, losses } = slot;
    slot.worker = undefined;
    losses.forgive();
    void worker?.release(reason);
  }

  #claim(shard: number, slot: Slot, partitions: readonly number[]): void {
    const worker = new ShardWorker(
      this.#context as PipelineContext,
      shard,
      partitions,
      slot.size,
      (error, places) => {
        this.#retired.add(worker);
        void worker.drained.then(() => this.#retired.delete(worker));
        if (slot.worker !== worker) return;
        slot.worker = undefined;
        if (this.#stopping.signal.aborted) return;
        slot.losses.lost(places, error);
        void this.#reclaim(shard, slot, error);
      },
    );
    slot.worker = worker;
    worker.start();
  }

  #refuse(error: Error): void {
    const message = `pipeline ${this.#options.name}, ${error.message}`;
    this.#ports.health.notReady(this.#condition, error.message);
    this.#onRefused(new RefusedError(message, { cause: error.cause ?? error }));
  }

  /** Claims a lost shard again, once the membership is confirmed: otherwise two owners could keep fencing each other. */
  async #reclaim(shard: number, slot: Slot, error: unknown): Promise<void> {
    const refusal = refusalOf(error, this.#hasOwned);
    if (refusal !== undefined)
      return this.#refuse(new RefusedError(`shard ${shard}: ${refusal}`, { cause: error }));
    const { clock, random, group } = this.#ports;
    const { fields } = slot.losses;
    this.#ports.logger[fields === undefined ? 'warn' : 'error'](
      { shard, error: describe(error), failures: slot.losses.failures, ...fields },
      'lost the shard; claiming it again once the group responds',
    );
    try {
      await clock.sleep(slot.losses.nextClaimMs(error, random), this.#stopping.signal);
      const confirmed = group.confirmMembership(this.#stopping.signal);
      const waits = this.#context && new ShardWaits(this.#context, shard, this.#stopping.signal);
      await (waits === undefined ? confirmed : waits.during('kafka', confirmed));
    } catch (reason) {
      if (this.#stopping.signal.aborted) return;
      void this.#reclaim(shard, slot, reason);
      return;
    }
    const partitions = this.#assigned.get(shard);
    if (partitions !== undefined && slot.worker === undefined) this.#claim(shard, slot, partitions);
  }

  #report(): void {
    this.#publish();
    this.#cancelReport = this.#ports.clock.after(REPORT_MS, () => this.#report());
  }

  #publish(): void {
    const { admin, clock, metrics } = this.#ports;
    const { name } = this.#options;
    // Retired workers are included, because they may still have a running transaction.
    const workers = [...[...this.#slots.values()].map(({ worker }) => worker), ...this.#retired];
    const reports = workers.flatMap((worker) => worker?.report() ?? []);
    this.#hasOwned ||= reports.some(({ owner }) => owner);
    for (const { worker, losses } of this.#slots.values()) losses.look(worker, clock.monotonic());
    if (!this.#stopping.signal.aborted) this.#publishReadiness();
    // After the loss of an assigned shard, the lag is unknown until the shard has a worker again.
    const isWorkedOn = [...this.#assigned.keys()].every((shard) => this.#slots.get(shard)?.worker);
    this.#lag = isWorkedOn ? lagOf(reports, clock.monotonic()) : undefined;
    publishGauges(metrics, { pipeline: name }, reports, this.#lag, this.#context?.ledger.open ?? 0);
    metrics.set('kafka_silent_seconds', {}, admin.silentMs() / 1_000);
    metrics.set('memory_used_bytes', {}, this.#budget.usedBytes);
  }

  /** Describes the partitions that cannot be read, and reports them as waiting. */
  #unread(): string[] {
    const { source, journal } = this.#options;
    const topics = { source: source.topic, journal: journal.topic };
    const unread = this.#ports.group.unread().map(({ stream, partition, ...at }) => ({
      ...at,
      who: `partition ${partition} of ${topics[stream]}`,
    }));
    this.#hold?.(unread.map(({ who }) => who));
    return unread.map(
      ({ who, offset, error }) => `${who} cannot be read at offset ${offset}: ${error}`,
    );
  }
}

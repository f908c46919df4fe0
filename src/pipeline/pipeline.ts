/**
 * One pipeline in this process: its member of the consumer group, and a worker for each shard that the group assigns
 * (DESIGN 1, 3 'Lost ownership').
 */
import pLimit from 'p-limit';
import { JournalFormatError } from '../core/journal/journal-records.ts';
import type { Assignment, FetchedBatch } from '../core/ports/kafka.ts';
import type { PipelineView, ViewLimits } from '../core/ports/pipeline-view.ts';
import type { Logger } from '../core/ports/telemetry.ts';
import { describe, RefusedError } from './context/errors.ts';
import { guardedKind } from './context/guarded-kind.ts';
import { InternalErrors } from './context/internal-errors.ts';
import type { PipelineOptions } from './context/options.ts';
import type { PipelineContext, PipelinePorts } from './context/pipeline-context.ts';
import { publishGauges } from './gauges.ts';
import { EndsInquiry, type EndsWanted } from './limits/end-offsets.ts';
import type { MemoryBudget } from './limits/memory-budget.ts';
import { TypeBreakers } from './limits/type-breakers.ts';
import { WaitReasons } from './limits/wait-reasons.ts';
import { viewPipeline } from './pipeline-view.ts';
import { ChunkSize } from './publish/chunk-size.ts';
import { Ledger } from './publish/ledger.ts';
import { ResultCounts } from './publish/result-counts.ts';
import { prepareTopics } from './shard/journal-topic.ts';
import { Losses } from './shard/losses.ts';
import { ShardWorker } from './shard/worker.ts';

const REPORT_MS = 1000;
/** Of a stop: for the transactions in hand, then for uploads under way. Together they leave time to leave the group. */
const TRANSACTIONS_MS = 2_000;
const UPLOADS_MS = 1_000;

interface Slot {
  worker: ShardWorker | undefined;
  readonly chunk: ChunkSize;
  readonly losses: Losses;
}

export class Supervisor {
  readonly #ports: PipelinePorts;
  readonly #options: PipelineOptions;
  readonly #budget: MemoryBudget;
  readonly #logger: Logger;
  readonly #onRefused: (error: Error) => void;
  readonly #slots = new Map<number, Slot>();
  /** Partitions by shard, as the newest generation has them. */
  #assigned: ReadonlyMap<number, readonly number[]> = new Map();
  #context: PipelineContext | undefined;
  #stopping = new AbortController();
  readonly #retired = new Set<ShardWorker>();
  /** Why this is not a member of the group, if it is not. */
  #leftBecause: string | undefined;
  #cancelReport: (() => void) | undefined;
  readonly #ends: EndsInquiry;

  /** @param onRefused is told when the pipeline must not go on; the process should end and say why. */
  constructor(
    ports: PipelinePorts,
    options: PipelineOptions,
    budget: MemoryBudget,
    onRefused: (error: Error) => void,
  ) {
    this.#ports = ports;
    this.#options = options;
    this.#budget = budget;
    this.#logger = ports.logger;
    this.#onRefused = onRefused;
    this.#ends = new EndsInquiry(ports, options.source.topic, () => this.#intakes());
  }

  /** Resolves when the group was joined. @throws RefusedError, or why Kafka cannot be reached. */
  async start(): Promise<void> {
    const options = this.#options;
    const { metrics, clock, random } = this.#ports;
    this.#ports.health.notReady(`${options.name}/group`, `joining group ${options.source.group}`);
    const topics = await prepareTopics(this.#ports.admin, options, this.#logger, clock);
    const waits = new WaitReasons({ metrics, pipeline: options.name, clock, logger: this.#logger });
    const internal = new InternalErrors({ metrics, pipeline: options.name, logger: this.#logger });
    this.#context = {
      ...this.#ports,
      kind: guardedKind(this.#ports.kind, internal),
      internal,
      options,
      instance: random.id(),
      budget: this.#budget,
      ledger: new Ledger(
        metrics,
        options.name,
        new ResultCounts(metrics, options.name, options.metrics.maxResults),
      ),
      waits,
      gates: new TypeBreakers({
        clock,
        logger: this.#logger,
        waits,
        pauseMs: options.review.typePauseMs,
      }),
      limits: {
        // One thread puts bodies together: a second one at once would only take memory for rows and body at the same time.
        encodes: pLimit(1),
        uploads: pLimit(options.concurrency.transfers),
        polls: pLimit(options.concurrency.requests),
        downloads: pLimit(options.concurrency.transfers),
        claims: pLimit(options.claims),
      },
      topics,
    };
    await this.#ports.group.start({
      joined: (assignment) => this.#joined(assignment),
      fetched: (batch) => this.#fetched(batch),
      left: (reason) => this.#left(reason),
    });
    this.#report();
    this.#ends.start(waits);
  }

  /**
   * Stops intake, lets the transactions in hand end, leaves the group. Jobs stay at the service; the next owner goes on
   * with them. Repeatable.
   */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the connector stops'));
    this.#cancelReport?.();
    this.#ends.stop();
    this.#assigned = new Map();
    // A transaction or an upload that hangs must not keep this member in the group: the others would wait for its shards.
    await this.#within(
      TRANSACTIONS_MS,
      [...this.#slots.values()].map(({ worker }) => worker?.release('the connector stops')),
    );
    this.#publish();
    await this.#within(
      UPLOADS_MS,
      [...this.#retired].map((worker) => worker.drained),
    );
    for (const worker of this.#retired) worker.abandonUploads();
    await this.#ports.group.stop();
    await this.#ports.reader.close();
  }

  /** What there is to see of it now. Costs time in proportion to the live jobs, and nothing while nobody asks. */
  view(limits: ViewLimits): PipelineView {
    const absent = this.#absence();
    const slots = [...this.#assigned.keys()]
      .sort((a, b) => a - b)
      .map((shard) => ({ shard, ...this.#slots.get(shard) }));
    return viewPipeline(
      {
        kind: this.#ports.kind.name,
        options: this.#options,
        context: this.#context,
        absent,
        slots,
      },
      limits,
    );
  }

  async #within(ms: number, work: readonly (Promise<void> | undefined)[]): Promise<void> {
    const enough = new AbortController();
    const late = this.#ports.clock.sleep(ms, enough.signal).catch(() => undefined);
    await Promise.race([Promise.all(work), late]);
    enough.abort();
  }

  #joined(assignment: Assignment): void {
    if (this.#stopping.signal.aborted) return;
    const { metrics } = this.#ports;
    const shardCount = this.#context?.topics.shards;
    if (shardCount !== undefined && assignment.shardCount !== shardCount) {
      this.#refuse(journalResized(this.#options, shardCount, assignment.shardCount));
      return;
    }
    this.#assigned = assignment.shards;
    metrics.count('rebalances_total', { pipeline: this.#options.name });
    this.#logger.info(
      { generation: assignment.generation, shards: [...assignment.shards.keys()] },
      'joined the group',
    );
    for (const [shard, slot] of this.#slots) {
      if (!assignment.shards.has(shard))
        this.#giveUp(slot, 'the group gave the shard to another instance');
    }
    for (const [shard, partitions] of assignment.shards) {
      const slot = this.#slot(shard);
      if (slot.worker !== undefined && !sameNumbers(slot.worker.partitions, partitions)) {
        this.#giveUp(slot, 'source partitions were added to the shard');
      }
      if (slot.worker === undefined) this.#claim(shard, slot, partitions);
      else slot.worker.rejoined();
    }
    this.#leftBecause = undefined;
    this.#publishMembership();
  }

  #fetched(batch: FetchedBatch): void {
    const shards = this.#context?.topics.shards ?? 1;
    const shard = batch.stream === 'journal' ? batch.partition : batch.partition % shards;
    this.#slots.get(shard)?.worker?.fetched(batch);
  }

  #left(reason: string): void {
    // Workers keep what they have: their fences decide whether it is still theirs. Uploads wait for the group by themselves.
    this.#logger.warn({ reason }, 'not in the group for now');
    this.#leftBecause = reason;
    this.#publishMembership();
  }

  /** Why this is no member of the group, if it is none. A frozen broker closes no connection: only its silence tells. */
  #absence(): string | undefined {
    const { clock, group } = this.#ports;
    const { source, kafka } = this.#options;
    if (this.#leftBecause !== undefined)
      return `not a member of group ${source.group}: ${this.#leftBecause}`;
    const silentMs = clock.monotonic() - group.lastHeardMs();
    if (silentMs < kafka.sessionTimeoutMs) return undefined;
    return `the brokers have not answered group ${source.group} for ${Math.floor(silentMs / 1000)} s: are they up, and can they be reached?`;
  }

  /** Who wants to know how far the source goes. Brokers that do not answer the group are not asked anything else. */
  #intakes(): readonly EndsWanted[] {
    if (this.#absence() !== undefined) return [];
    return [...this.#slots.values()].flatMap(({ worker }) => worker?.owned?.intake ?? []);
  }

  #publishMembership(): void {
    const { health } = this.#ports;
    const { name } = this.#options;
    const reason = this.#absence();
    if (reason === undefined) health.ready(`${name}/group`);
    else health.notReady(`${name}/group`, reason);
  }

  #slot(shard: number): Slot {
    let slot = this.#slots.get(shard);
    if (slot === undefined) {
      slot = {
        worker: undefined,
        chunk: new ChunkSize(this.#options.chunk),
        losses: new Losses(),
      };
      this.#slots.set(shard, slot);
    }
    return slot;
  }

  #giveUp(slot: Slot, reason: string): void {
    const { worker } = slot;
    slot.worker = undefined;
    slot.losses.forgive();
    if (worker === undefined) return;
    void worker.release(reason);
  }

  #claim(shard: number, slot: Slot, partitions: readonly number[]): void {
    const worker = new ShardWorker(
      this.#context as PipelineContext,
      shard,
      partitions,
      slot.chunk,
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

  #refuse(error: RefusedError): void {
    this.#onRefused(
      new RefusedError(`pipeline ${this.#options.name}, ${error.message}`, {
        cause: error.cause ?? error,
      }),
    );
  }

  /** After a loss: hear from the group first, or two owners would fence each other for ever. */
  async #reclaim(shard: number, slot: Slot, error: unknown): Promise<void> {
    if (error instanceof RefusedError || error instanceof JournalFormatError) {
      this.#refuse(new RefusedError(`shard ${shard}: ${error.message}`, { cause: error }));
      return;
    }
    const { clock, random, group } = this.#ports;
    const { fields } = slot.losses;
    this.#logger[fields === undefined ? 'warn' : 'error'](
      { shard, error: describe(error), failures: slot.losses.failures, ...fields },
      'lost the shard; claiming it again once the group answers',
    );
    try {
      await clock.sleep(slot.losses.nextClaimMs(error, random), this.#stopping.signal);
      const confirmed = group.confirmMembership(this.#stopping.signal);
      await this.#context?.waits.during('membership', `shard ${shard}`, confirmed);
    } catch (reason) {
      if (this.#stopping.signal.aborted) return;
      void this.#reclaim(shard, slot, reason);
      return;
    }
    const partitions = this.#assigned.get(shard);
    if (partitions === undefined || slot.worker !== undefined) return;
    this.#claim(shard, slot, partitions);
  }

  /** Gauges of the pipeline, from what its workers report. */
  #report(): void {
    this.#publish();
    this.#cancelReport = this.#ports.clock.after(REPORT_MS, () => this.#report());
  }

  #publish(): void {
    const { metrics, health } = this.#ports;
    const labels = { pipeline: this.#options.name };
    // Workers that are over may have a last transaction in hand.
    const workers = [...[...this.#slots.values()].map(({ worker }) => worker), ...this.#retired];
    const reports = workers.flatMap((worker) => worker?.report() ?? []);
    for (const { worker, losses } of this.#slots.values())
      losses.look(worker, this.#ports.clock.monotonic());
    if (!this.#stopping.signal.aborted) this.#publishMembership();
    publishGauges(metrics, labels, reports, this.#context?.ledger.open ?? 0);
    metrics.set('memory_used_bytes', {}, this.#budget.usedBytes);
    const unowned = [...this.#assigned.keys()].filter(
      (shard) => !this.#slots.get(shard)?.worker?.report().owner,
    );
    const lost = [...this.#assigned.keys()].flatMap((shard) => {
      const text = this.#slots.get(shard)?.losses.text;
      return text === undefined ? [] : [`shard ${shard} ${text}`];
    });
    if (unowned.length > 0) lost.push(`claiming shard(s) ${unowned.join(', ')}`);
    if (lost.length === 0) health.ready(`${this.#options.name}/shards`);
    else health.notReady(`${this.#options.name}/shards`, lost.join('; '));
    const unauthorized =
      this.#context?.waits.current().some(({ reason }) => reason === 'unauthorized') ?? false;
    if (unauthorized)
      health.notReady(
        `${this.#options.name}/service`,
        'the service refuses the API key (401/403): check the key; a rotated key file is read again by itself',
      );
    else health.ready(`${this.#options.name}/service`);
  }
}

/** Shards are counted by the partitions of the journal: with another count each record would belong to another shard. */
function journalResized(
  { journal, source }: PipelineOptions,
  before: number,
  now: number,
): RefusedError {
  return new RefusedError(
    `journal ${journal.topic}: it had ${before} partitions when this process started and has ${now} now, and the number of a journal's partitions must never change. ` +
      `Kafka cannot remove partitions: create another journal topic with ${before} partitions, copy partitions 0 to ${before - 1} of ${journal.topic} to it one to one (keys, values, order), set journal.topic to it and keep group ${source.group}.`,
  );
}

const sameNumbers = (a: readonly number[], b: readonly number[]): boolean =>
  a.length === b.length && a.every((value, index) => value === b[index]);

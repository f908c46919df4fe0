/** World in memory for the real engine: any number of instances with one cluster, one service and one virtual clock. */
import assert from 'node:assert/strict';
import type { LiveJob } from '../../../src/core/journal/job.ts';
import { JournalView } from '../../../src/core/journal/journal-view.ts';
import type { CommittedOffset } from '../../../src/core/ports/kafka.ts';
import type { PipelineKind } from '../../../src/core/ports/pipeline-kind.ts';
import type { Logger } from '../../../src/core/ports/telemetry.ts';
import type { RecordHeaders, SourceRecord } from '../../../src/core/record.ts';
import { ENGINE_LIMITS, type PipelineOptions } from '../../../src/pipeline/context/options.ts';
import type { PipelinePorts } from '../../../src/pipeline/context/pipeline-context.ts';
import type { MemoryBudget } from '../../../src/pipeline/limits/memory-budget.ts';
import { Pipeline } from '../../../src/pipeline/pipeline.ts';
import { assertExactlyOnce, isSettled, judge, type Verdict } from '../memory/checker.ts';
import { SeededRandom, VirtualClock, type VirtualClockOptions } from '../memory/clock.ts';
import { KafkaClient } from '../memory/kafka/client.ts';
import { type KafkaHooks, type KafkaSettings, MemoryKafka } from '../memory/kafka/kafka.ts';
import type { MemoryShardGroup } from '../memory/kafka/shard-group.ts';
import { VirtualProcess } from '../memory/process.ts';
import { ReviewService, type ServiceScript } from '../memory/service/review-service.ts';
import {
  type ScriptedDecision,
  ScriptedKind,
  sourceValue,
} from '../memory/service/scripted-kind.ts';
import { StrictBudget } from '../memory/strict-pool.ts';
import {
  RecordingHealth,
  RecordingLogger,
  RecordingMetrics,
} from '../memory/telemetry/recording-telemetry.ts';
import { RecordingTracer } from '../memory/telemetry/recording-tracer.ts';
import { assertSilent } from '../stack/canary.ts';

export const TOPICS = { group: 'reviewers', source: 'content', journal: 'journal' };
const OUTPUTS = ['decisions', 'dead'];
/**
 * Text that no instance may expose: prefixes of the contents that `event` creates, and of the in-memory service's
 * addresses.
 */
const CONTENT = ['event of ', 'memory://'];

export type OptionChanges = {
  [K in keyof PipelineOptions]?: PipelineOptions[K] extends object
    ? Partial<PipelineOptions[K]>
    : PipelineOptions[K];
};

export function engineOptions(changes: OptionChanges = {}): PipelineOptions {
  const defaults: PipelineOptions = {
    name: 'reviews',
    service: 'default',
    source: {
      topic: TOPICS.source,
      group: TOPICS.group,
      startFrom: 'earliest',
      maxInFlight: 200_000,
    },
    journal: { topic: TOPICS.journal, partitions: undefined },
    output: { topic: 'decisions' },
    deadLetters: { topic: 'dead' },
    batch: { maxRows: 5, maxBytes: 1_000_000, maxAgeMs: 2_000, types: {} },
    lanes: {},
    quota: {},
    review: {
      pollMs: 5_000,
      maxReviewTimeMs: 86_400_000,
      onTimeout: 'wait',
      onRejectedType: 'pause',
      graceMs: 60_000,
      pauseMs: 10_000,
      attempts: 2,
      onFailure: 'error',
    },
    objective: { ageMs: 3_600_000 },
    kafka: {
      sessionTimeoutMs: 30_000,
      transactionTimeoutMs: 60_000,
    },
    concurrency: { requests: 8, transfers: 4 },
    ...ENGINE_LIMITS,
    firstBatchRows: Infinity,
    chunk: { maxRows: 3, maxBytes: 100_000 },
    claims: 4,
  };
  const merged: Record<string, unknown> = { ...defaults };
  for (const [key, value] of Object.entries(changes)) {
    merged[key] =
      typeof value === 'object'
        ? { ...(defaults as unknown as Record<string, object>)[key], ...value }
        : value;
  }
  return merged as unknown as PipelineOptions;
}

/** Creates the kind that one instance runs. */
export type MakeKind = (world: World, process: VirtualProcess, name: string) => PipelineKind;

const scripted: MakeKind = ({ service }, process, name) => new ScriptedKind(service, process, name);

/** Wraps the ports of an engine. Tests use it for faults that the memory ports cannot script, and to remove rules. */
export type WrapPorts = (ports: PipelinePorts, world: World) => PipelinePorts;

export class Instance {
  readonly process: VirtualProcess;
  readonly pipeline: Pipeline;
  readonly group: MemoryShardGroup;
  readonly budget: MemoryBudget;
  readonly metrics = new RecordingMetrics();
  readonly health = new RecordingHealth();
  readonly tracer = new RecordingTracer();
  readonly logger: RecordingLogger & Logger;
  refused: Error | undefined;
  startFailure: unknown;
  #stopped = false;

  constructor(world: World, name: string, options: PipelineOptions, budgetBytes: number) {
    this.process = new VirtualProcess(name, world.clock);
    this.logger = new RecordingLogger();
    const client = new KafkaClient(world.kafka, this.process, name, TOPICS);
    this.group = client.group();
    this.budget = new StrictBudget(budgetBytes);
    this.pipeline = new Pipeline(
      world.wrap({
        group: this.group,
        producers: client.producers(),
        admin: client.admin(),
        reader: client.sourceReader(),
        kind: world.makeKind(this.process, name),
        clock: this.process,
        random: new SeededRandom(world.nextSeed(), name),
        metrics: this.metrics,
        logger: this.logger,
        health: this.health,
        tracer: this.tracer,
      }),
      options,
      this.budget,
      (error) => {
        this.refused = error;
      },
    );
    this.pipeline.start().catch((error: unknown) => {
      if (!this.#stopped) this.startFailure = error;
    });
  }

  /** Returns the last reported value of a gauge of the pipeline. Gauges are reported once a second. */
  gauge(name: string, labels: Readonly<Record<string, string>> = {}): number | undefined {
    return this.metrics.gauge(name, { pipeline: 'reviews', ...labels });
  }

  /** Stops the instance as SIGTERM does. May be called before the start has completed. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.pipeline.stop();
  }
}

export interface WorldSettings {
  partitions?: number;
  options?: OptionChanges;
  hooks?: KafkaHooks;
  kafka?: Partial<KafkaSettings>;
  /** Creates the cluster. Default: a MemoryKafka on this world's clock. */
  cluster?: (
    clock: VirtualClock,
    hooks: KafkaHooks,
    settings: Partial<KafkaSettings>,
  ) => MemoryKafka;
  wrap?: WrapPorts;
  /** Creates the kind. Default: the scripted kind. */
  kind?: MakeKind;
  service?: ServiceScript;
  seed?: number;
  budgetBytes?: number;
  /** If true, the seed also draws the order in which ready steps run. */
  shuffle?: boolean;
  /** Order and latency of steps; replaces `shuffle`. */
  schedule?: VirtualClockOptions;
}

export class World {
  readonly clock: VirtualClock;
  readonly kafka: MemoryKafka;
  readonly service: ReviewService;
  readonly instances: Instance[] = [];
  readonly options: PipelineOptions;
  readonly budgetBytes: number;
  readonly #seed: SeededRandom;
  readonly #wrap: WrapPorts;
  readonly #kind: MakeKind;
  #produced = 0;

  constructor(settings: WorldSettings = {}) {
    this.#seed = new SeededRandom(settings.seed ?? 1);
    const order = new SeededRandom((settings.seed ?? 1) + 7919);
    this.clock = new VirtualClock(
      settings.schedule ??
        (settings.shuffle
          ? { choose: (channels) => order.below(channels.length), latencyMs: () => order.below(20) }
          : {}),
    );
    const cluster =
      settings.cluster ??
      ((clock, hooks, changes) => new MemoryKafka(clock, clock, hooks, changes));
    this.kafka = cluster(this.clock, settings.hooks ?? {}, settings.kafka ?? {});
    this.#wrap = settings.wrap ?? ((ports) => ports);
    this.#kind = settings.kind ?? scripted;
    this.service = new ReviewService(this.clock, this.clock, settings.service ?? {});
    this.options = engineOptions(settings.options);
    this.budgetBytes = settings.budgetBytes ?? 1_000_000;
    this.kafka.cluster.createTopic(TOPICS.source, settings.partitions ?? 2);
    for (const topic of OUTPUTS) this.kafka.cluster.createTopic(topic, 2);
  }

  nextSeed(): number {
    return this.#seed.below(2 ** 31);
  }

  wrap(ports: PipelinePorts): PipelinePorts {
    return this.#wrap(ports, this);
  }

  makeKind(process: VirtualProcess, name: string): PipelineKind {
    return this.#kind(this, process, name);
  }

  start(name = `i${this.instances.length + 1}`): Instance {
    const instance = new Instance(this, name, this.options, this.budgetBytes);
    this.instances.push(instance);
    return instance;
  }

  /** Produces `count` records, round robin over the partitions. Every `poisonEvery`th record cannot be decoded. */
  produce(count: number, shape: { types?: readonly string[]; poisonEvery?: number } = {}): void {
    const partitions = this.kafka.cluster.partitions(TOPICS.source);
    const types = shape.types ?? ['a', 'b'];
    for (let i = 0; i < count; i++) {
      const n = this.#produced++;
      const poison =
        shape.poisonEvery !== undefined && n % shape.poisonEvery === shape.poisonEvery - 1;
      const value = poison
        ? 'not json'
        : sourceValue({ type: types[n % types.length] as string, content: `text ${n}` });
      this.kafka.cluster.produce(TOPICS.source, n % partitions, [
        { key: `k${n}`, value: Buffer.from(value) },
      ]);
    }
  }

  get produced(): number {
    return this.#produced;
  }

  /** Returns the next record number, for a record that another producer writes. */
  count(): number {
    return this.#produced++;
  }

  /** Produces one record as given. @returns its offset */
  put(
    partition: number,
    value: string | null,
    more: { key?: string; headers?: RecordHeaders; timestampMs?: number } = {},
  ) {
    const { key = null, ...rest } = more;
    const record = { key, value: value === null ? null : Buffer.from(value), ...rest };
    return this.kafka.cluster.produce(TOPICS.source, partition, [record]);
  }

  /** Produces one record that decodes. @returns its offset */
  event(partition: number, type = 'a', timestampMs?: number): number {
    return this.put(
      partition,
      sourceValue({ type, content: `event of ${type}` }),
      timestampMs === undefined ? {} : { timestampMs },
    );
  }

  verdict(): Verdict {
    return judge(this.kafka.cluster, { ...TOPICS, outputs: OUTPUTS });
  }

  /**
   * Asserts I1 and I2 at the end of a run, and I6 for the journal and for the logs, metrics, health and spans of
   * every instance. Also asserts that each running instance has returned all buffers to its pool.
   */
  assertExactlyOnce(): void {
    this.#assertSilent();
    for (const { process, budget } of this.instances) {
      if (process.state === 'running')
        assert.equal(
          budget.pool.lentBytes,
          0,
          `bytes of buffers that ${process.name} has not returned`,
        );
    }
    assertExactlyOnce(this.kafka.cluster, { ...TOPICS, outputs: OUTPUTS });
  }

  #assertSilent(): void {
    for (const { logger, metrics, health, tracer, pipeline } of this.instances) {
      const said = [
        JSON.stringify(pipeline.view()),
        logger.text(),
        tracer.text(),
        ...metrics.counters.keys(),
        ...metrics.gauges.keys(),
        ...metrics.observations.keys(),
      ];
      assertSilent(
        [...said, ...health.complaints].join('\n'),
        'the output of an instance',
        CONTENT,
      );
    }
    const journal = this.kafka.cluster.log(TOPICS.journal, 0).durable();
    assertSilent(
      journal.map(({ key, value }) => `${key} ${value}`).join('\n'),
      'the journal',
      CONTENT,
    );
  }

  /** Returns the records of an output as a read_committed consumer reads them, by partition. */
  published(topic: 'decisions' | 'dead'): readonly SourceRecord[] {
    return this.kafka.cluster.committedRecords(topic);
  }

  decisions(): ScriptedDecision[] {
    return this.published('decisions').map(
      ({ value }) => JSON.parse(String(value)) as ScriptedDecision,
    );
  }

  /** Returns the newest committed offset of the group with the metadata that the engine wrote. */
  committed(partition: number): CommittedOffset {
    return this.kafka.cluster.committedOffset(TOPICS.group, TOPICS.source, partition);
  }

  get settled(): boolean {
    if (this.kafka.cluster.describe(TOPICS.journal) === undefined) return false;
    return isSettled(this.kafka.cluster, { ...TOPICS, outputs: OUTPUTS });
  }

  /** Advances time until `work` completes. @returns its result */
  async through<T>(work: Promise<T>, maxVirtualMs = 60_000): Promise<T> {
    let over = false;
    const watched = work.finally(() => {
      over = true;
    });
    watched.catch(() => undefined);
    await this.clock.runUntil(() => over, maxVirtualMs);
    return watched;
  }

  /** Returns the live jobs that a restart would find in the journal. */
  liveJobs(): readonly LiveJob[] {
    const { cluster } = this.kafka;
    return Array.from({ length: cluster.partitions(TOPICS.journal) }).flatMap((_, shard) => {
      const view = new JournalView();
      for (const { key, value } of cluster.log(TOPICS.journal, shard).durable())
        view.fold(String(key), value && String(value));
      return [...view.finish().jobs.values()];
    });
  }

  /** Runs until every record has its terminal record and no job is live. */
  async untilSettled(maxVirtualMs: number): Promise<void> {
    // The check reads every log, so it runs once per virtual second instead of between steps.
    for (let passedMs = 0; passedMs <= maxVirtualMs; passedMs += 1000) {
      await this.clock.advance(1000);
      for (const { refused, startFailure } of this.instances) {
        if (refused !== undefined) throw refused;
        if (startFailure !== undefined) throw startFailure;
      }
      if (this.settled) return;
    }
    const { missing, liveJobs } = this.verdict();
    const waits = this.instances.map(
      ({ process, logger }) =>
        `${process.name}(${process.state}): ${logger.text().split('\n').slice(-12).join('\n')}`,
    );
    throw new Error(
      `not settled after ${maxVirtualMs} ms: ${missing.length} missing (${missing.slice(0, 8)}), live jobs ${liveJobs.join(' ')}\n${waits.join('\n')}`,
    );
  }
}

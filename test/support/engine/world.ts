/** A world in memory for the real engine: any number of instances over one cluster, one service, and one virtual clock. */
import type { HealthReporter, Logger } from '../../../src/core/ports/telemetry.ts';
import { MemoryBudget } from '../../../src/pipeline/memory-budget.ts';
import type { PipelineOptions } from '../../../src/pipeline/options.ts';
import { Supervisor } from '../../../src/pipeline/supervisor.ts';
import { assertConserved, assertExactlyOnce, judge, type Verdict } from '../memory/checker.ts';
import { KafkaClient } from '../memory/client.ts';
import { SeededRandom, VirtualClock } from '../memory/clock.ts';
import { type KafkaHooks, MemoryKafka } from '../memory/kafka.ts';
import { VirtualProcess } from '../memory/process.ts';
import { RecordingLogger, RecordingMetrics } from '../memory/recording-telemetry.ts';
import { ReviewService, type ServiceScript } from '../memory/review-service.ts';
import { ScriptedKind, sourceValue } from '../memory/scripted-kind.ts';

export const TOPICS = { group: 'reviewers', source: 'content', journal: 'journal' };
const OUTPUTS = ['decisions', 'dead'];

export type OptionChanges = {
  [K in keyof PipelineOptions]?: PipelineOptions[K] extends object ? Partial<PipelineOptions[K]> : PipelineOptions[K];
};

export function engineOptions(changes: OptionChanges = {}): PipelineOptions {
  const defaults: PipelineOptions = {
    name: 'reviews',
    source: { topic: TOPICS.source, group: TOPICS.group, startFrom: 'earliest', maxSpan: 200_000 },
    journal: { topic: TOPICS.journal, partitions: undefined, replicationFactor: undefined },
    output: { topic: 'decisions' },
    deadLetters: { topic: 'dead' },
    batch: { maxRows: 5, maxBytes: 1_000_000, maxAgeMs: 2_000, maxOffsetBytes: 262_144 },
    chunk: { maxRows: 3, maxBytes: 100_000 },
    retry: { attempts: 2, maxBatchesPerJob: 64, errorRowAttempts: 1, downloads: 3 },
    review: {
      pollInitialMs: 500,
      pollMaxMs: 5_000,
      maxReviewMs: 86_400_000,
      onTimeout: 'wait',
      uploadGraceMs: 60_000,
      missingGraceMs: 60_000,
      typePauseMs: 10_000,
      authPauseMs: 5_000,
    },
    timing: {
      sessionTimeoutMs: 30_000,
      progressIntervalMs: 10_000,
      probeIntervalMs: 60_000,
      uploadDrainMs: 60_000,
      resetConfirmMs: 2_000,
    },
    concurrency: { uploads: 4, polls: 8, downloads: 2, claims: 4 },
  };
  const merged: Record<string, unknown> = { ...defaults };
  for (const [key, value] of Object.entries(changes)) {
    merged[key] = typeof value === 'object' ? { ...(defaults as unknown as Record<string, object>)[key], ...value } : value;
  }
  return merged as unknown as PipelineOptions;
}

const SILENT_HEALTH: HealthReporter = { beat() {}, waiting() {}, ended() {}, ready() {}, notReady() {}, withdraw() {} };

export class Instance {
  readonly process: VirtualProcess;
  readonly supervisor: Supervisor;
  readonly metrics = new RecordingMetrics();
  readonly logger: RecordingLogger & Logger;
  refused: Error | undefined;
  startFailure: unknown;
  #stopped = false;

  constructor(world: World, name: string, options: PipelineOptions, budgetBytes: number) {
    this.process = new VirtualProcess(name, world.clock);
    this.logger = new RecordingLogger();
    const client = new KafkaClient(world.kafka, this.process, name, TOPICS);
    this.supervisor = new Supervisor(
      {
        group: client.group(),
        producers: client.producers(),
        admin: client.admin(),
        reader: client.sourceReader(),
        kind: new ScriptedKind(world.service, this.process, name),
        clock: this.process,
        random: new SeededRandom(world.nextSeed(), name),
        metrics: this.metrics,
        logger: this.logger,
        health: SILENT_HEALTH,
      },
      options,
      new MemoryBudget(budgetBytes),
      (error) => {
        this.refused = error;
      },
    );
    this.supervisor.start().catch((error: unknown) => {
      if (!this.#stopped) this.startFailure = error;
    });
  }

  /** As SIGTERM does; may be called before the start is through. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.supervisor.stop();
  }
}

export class World {
  readonly clock: VirtualClock;
  readonly kafka: MemoryKafka;
  readonly service: ReviewService;
  readonly instances: Instance[] = [];
  readonly options: PipelineOptions;
  readonly budgetBytes: number;
  readonly #seed: SeededRandom;
  #produced = 0;

  constructor(
    settings: {
      partitions?: number;
      options?: OptionChanges;
      hooks?: KafkaHooks;
      service?: ServiceScript;
      seed?: number;
      budgetBytes?: number;
      /** The seed also picks the order in which ready steps run. */
      shuffle?: boolean;
    } = {},
  ) {
    this.#seed = new SeededRandom(settings.seed ?? 1);
    const order = new SeededRandom((settings.seed ?? 1) + 7919);
    this.clock = new VirtualClock(
      settings.shuffle ? { choose: (channels) => order.below(channels.length), latencyMs: () => order.below(20) } : {},
    );
    this.kafka = new MemoryKafka(this.clock, this.clock, settings.hooks ?? {});
    this.service = new ReviewService(this.clock, this.clock, settings.service ?? {});
    this.options = engineOptions(settings.options);
    this.budgetBytes = settings.budgetBytes ?? 1_000_000;
    this.kafka.cluster.createTopic(TOPICS.source, settings.partitions ?? 2);
    for (const topic of OUTPUTS) this.kafka.cluster.createTopic(topic, 2);
  }

  nextSeed(): number {
    return this.#seed.below(2 ** 31);
  }

  start(name = `i${this.instances.length + 1}`): Instance {
    const instance = new Instance(this, name, this.options, this.budgetBytes);
    this.instances.push(instance);
    return instance;
  }

  /** Produces `count` records, round robin over the partitions; every `poisonEvery`th cannot be decoded. */
  produce(count: number, shape: { types?: readonly string[]; poisonEvery?: number } = {}): void {
    const partitions = this.kafka.cluster.partitions(TOPICS.source);
    const types = shape.types ?? ['a', 'b'];
    for (let i = 0; i < count; i++) {
      const n = this.#produced++;
      const poison = shape.poisonEvery !== undefined && n % shape.poisonEvery === shape.poisonEvery - 1;
      const value = poison ? 'not json' : sourceValue({ type: types[n % types.length] as string, content: `text ${n}` });
      this.kafka.cluster.produce(TOPICS.source, n % partitions, [{ key: `k${n}`, value: Buffer.from(value) }]);
    }
  }

  get produced(): number {
    return this.#produced;
  }

  verdict(): Verdict {
    return judge(this.kafka.cluster, { ...TOPICS, outputs: OUTPUTS });
  }

  /** I1 and I2 as they stand now. */
  assertConserved(): void {
    if (this.kafka.cluster.describe(TOPICS.journal) !== undefined)
      assertConserved(this.kafka.cluster, { ...TOPICS, outputs: OUTPUTS });
  }

  assertExactlyOnce(): void {
    assertExactlyOnce(this.kafka.cluster, { ...TOPICS, outputs: OUTPUTS });
  }

  get settled(): boolean {
    if (this.kafka.cluster.describe(TOPICS.journal) === undefined) return false;
    const { missing, liveJobs } = this.verdict();
    return missing.length === 0 && liveJobs.length === 0;
  }

  /** Runs until every record has its terminal record and no job is live. */
  async untilSettled(maxVirtualMs: number): Promise<void> {
    // Judging reads every log, so it is done once a virtual second, not between any two steps.
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
      ({ process, logger }) => `${process.name}(${process.state}): ${logger.text().split('\n').slice(-12).join('\n')}`,
    );
    throw new Error(
      `not settled after ${maxVirtualMs} ms: ${missing.length} missing (${missing.slice(0, 8)}), live jobs ${liveJobs.join(' ')}\n${waits.join('\n')}`,
    );
  }
}

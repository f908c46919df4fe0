/**
 * Scenes for the rows of the failure table. Each is a pipeline with its own topics and its own content type, by which
 * faults are assigned to the scene. All scenes of a file run concurrently in one connector process with one sandbox,
 * which makes scenes cheap.
 */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { after } from 'node:test';
import { stringify } from 'yaml';
import type { SourceCoordinate } from '../../../src/core/record.ts';
import { eventually } from '../../support/eventually.ts';
import { type TestKafka, uniqueName } from '../../support/kafka/kafka.ts';
import {
  type FakeService,
  type ServicePolicy,
  startFakeService,
} from '../../support/service/fake-service.ts';
import type { FaultInput } from '../../support/service/fault-script.ts';
import { CANARY, plant } from '../../support/stack/canary.ts';
import { merge, type Replica, type StackTopics, spawnReplica } from '../../support/stack/stack.ts';
import { type Terminal, TerminalRecords } from '../../support/stack/terminal-records.ts';
import type { NewRecord } from '../../support/stack/topic-writer.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

export const API_KEY = CANARY.key;
const DEADLINE_MS = 60_000;
/**
 * Times that are short, but different enough for tests. With this `maxAge` the eight events of a scene are one batch
 * even on a busy machine.
 */
const PIPELINE = {
  batch: { maxRows: 8, maxAge: '2s' },
  review: {
    poll: '150ms',
    attempts: 2,
    pause: '700ms',
  },
};

export interface SceneOptions {
  /** Records to write before the connector starts: a number of events, by default 8, or the records. */
  readonly events?: number | readonly NewRecord[];
  /** Faults of this scene's batches. The content type is added. */
  readonly faults?: readonly FaultInput[];
  /** Options that are merged into the pipeline's configuration. */
  readonly pipeline?: Readonly<Record<string, unknown>>;
}

export class Scene {
  readonly name: string;
  readonly topics: StackTopics;
  readonly options: SceneOptions;
  readonly replicas: Replica[];
  readonly terminal: TerminalRecords;
  readonly source: SourceCoordinate[] = [];
  readonly #kafka: TestKafka;
  readonly #sandbox: FakeService;

  constructor(
    name: string,
    topics: StackTopics,
    options: SceneOptions,
    kafka: TestKafka,
    sandbox: FakeService,
    replicas: Replica[],
  ) {
    this.name = name;
    this.topics = topics;
    this.options = options;
    this.replicas = replicas;
    this.terminal = new TerminalRecords(kafka, this);
    this.#kafka = kafka;
    this.#sandbox = sandbox;
  }

  /** Returns a record of this scene's type. */
  event(content: string, metadata: Readonly<Record<string, unknown>> = {}): NewRecord {
    return {
      key: content,
      value: JSON.stringify({ type: this.name, content: `${content} ${CANARY.content}`, metadata }),
    };
  }

  /** Writes records and registers their contents for the silence check of all replicas. */
  async write(records: readonly NewRecord[]): Promise<SourceCoordinate[]> {
    for (const { value } of records) if (typeof value === 'string') plantEvent(value);
    const written = await this.#kafka.write(this.topics.source, records);
    this.source.push(...written);
    return written;
  }

  async writeEvents(): Promise<void> {
    const { events = 8 } = this.options;
    await this.write(
      typeof events === 'number'
        ? Array.from({ length: events }, (_, n) => this.event(`text ${n}`, { n }))
        : events,
    );
  }

  /** Batches of this scene at the service, oldest first. */
  get batches() {
    return this.#sandbox.batches().filter(({ type }) => type === this.name);
  }

  /** Returns the first replica's metric for this pipeline. */
  metric(name: string, labels: Readonly<Record<string, string>> = {}): Promise<number> {
    return (this.replicas[0] as Replica).metric(name, { pipeline: this.name, ...labels });
  }

  /** Waits until a metric has a value, because some counters change shortly after the records of a transaction. */
  async untilMetric(
    name: string,
    labels: Readonly<Record<string, string>>,
    is: (value: number) => boolean,
  ): Promise<void> {
    let last: number | undefined;
    const asked = async () => {
      last = await this.metric(name, labels);
      return is(last);
    };
    const what = `${name} ${JSON.stringify(labels)} of ${this.name} has the expected value`;
    await eventually(what, asked, { deadlineMs: DEADLINE_MS, everyMs: 50 }).catch(
      (error: Error) => {
        throw new Error(`${error.message}; it is ${last}`);
      },
    );
  }

  /** Removes this scene's faults. */
  lift(): void {
    this.#sandbox.faults.drop(this.name);
  }

  /** Waits until a line of this pipeline's log matches. */
  async untilLogged(message: RegExp): Promise<string> {
    return await eventually(
      `${this.name} logs ${message}`,
      () => this.log.find((line) => message.test(line)),
      {
        deadlineMs: DEADLINE_MS,
      },
    );
  }

  get log(): string[] {
    return this.replicas
      .flatMap(({ lines }) => lines)
      .filter((line) => line.includes(`"pipeline":"${this.name}"`));
  }

  /** Waits until each source record has exactly one terminal record and the balance is 0. Returns the terminal records. */
  async ends(): Promise<Terminal[]> {
    await this.terminal.untilCount(this.source.length, DEADLINE_MS);
    await this.untilMetric('items_in_flight', {}, (value) => value === 0);
    await this.terminal.refresh();
    this.terminal.assertOnceEach(this.source);
    assert.equal(await this.metric('balance_items'), 0);
    return this.source.map((at) => this.terminal.one(at));
  }

  /** Waits like `ends`, and asserts that all terminal records are decisions with status SUCCESS. */
  async endsWell(): Promise<Terminal[]> {
    const terminal = await this.ends();
    assert.deepEqual(
      new Set(terminal.map(({ reason, decision }) => reason ?? decision?.status)),
      new Set(['SUCCESS']),
    );
    return terminal;
  }
}

function plantEvent(value: string): void {
  let event: unknown;
  try {
    event = JSON.parse(value);
  } catch {
    return;
  }
  const { content, data } = (event ?? {}) as { content?: unknown; data?: unknown };
  for (const text of [
    content,
    ...(typeof data === 'object' && data !== null ? Object.values(data) : []),
  ]) {
    if (typeof text === 'string') plant(text);
  }
}

/**
 * Returns the outcomes in source order: `SUCCESS`, `ERROR <code>`, or the reason of a dead letter.
 */
export function outcomes(terminal: readonly Terminal[]): string[] {
  return terminal.map(
    ({ reason, decision }) =>
      reason ?? (decision?.error ? `ERROR ${decision.error.code}` : `${decision?.status}`),
  );
}

export interface Run {
  readonly sandbox: FakeService;
  readonly replica: Replica;
  readonly configFile: string;
  /** Starts another connector with the same configuration. */
  startReplica(): Promise<Replica>;
  /** Returns the scene with this name. */
  scene(name: string): Scene;
}

/** Starts the sandbox and, after writing all records, a connector with one pipeline per scene. They end with the test file. */
export async function run(
  kafka: TestKafka,
  scenes: Readonly<Record<string, SceneOptions>>,
  more: {
    readonly policy?: ServicePolicy;
    readonly config?: Readonly<Record<string, unknown>>;
  } = {},
): Promise<Run> {
  const directory = temporaryDirectory();
  const faults = Object.entries(scenes).flatMap(([type, scene]) =>
    (scene.faults ?? []).map((fault): FaultInput => ({ ...fault, match: { type } })),
  );
  const sandbox = await startFakeService({
    apiKeys: [API_KEY],
    policy: { ...more.policy, faults: [...faults, ...(more.policy?.faults ?? [])] },
  });
  after(() => sandbox.stop());
  const replicas: Replica[] = [];
  const all: Scene[] = [];
  // Creates the scenes one after the other, because a controller under load takes seconds for thirty topics at once.
  for (const [name, options] of Object.entries(scenes)) {
    const [source, decisions, deadLetters] = await Promise.all([
      kafka.createTopic('content'),
      kafka.createTopic('decisions'),
      kafka.createTopic('dead-letters'),
    ]);
    const topics = { source, decisions, deadLetters, journal: uniqueName('journal') };
    const scene = new Scene(name, topics, options, kafka, sandbox, replicas);
    await scene.writeEvents();
    all.push(scene);
  }
  const configFile = path.join(directory, 'connector.yaml');
  const config = {
    kafka: { brokers: kafka.brokers },
    service: {
      baseUrl: sandbox.baseUrl,
      apiKey: API_KEY,
    },
    http: { port: 0 },
    log: { level: 'debug' },
    pipelines: all.map(({ name, topics, options }) =>
      merge(
        merge(PIPELINE, {
          name,
          source: { topic: topics.source, group: uniqueName('group') },
          journal: { topic: topics.journal },
          output: { topic: topics.decisions },
          deadLetters: { topic: topics.deadLetters },
        }),
        options.pipeline ?? {},
      ),
    ),
  };
  writeFileSync(configFile, stringify(merge(config, more.config ?? {})));
  after(() => Promise.all(replicas.map(({ process: kept }) => kept.stop(0))));
  const startReplica = async () => {
    const started = await spawnReplica(`replica-${replicas.length + 1}`, configFile);
    replicas.push(started);
    return started;
  };
  const replica = await startReplica();
  return {
    sandbox,
    replica,
    configFile,
    startReplica,
    scene(name) {
      const found = all.find((scene) => scene.name === name);
      assert.ok(found !== undefined, `there is no scene ${name}`);
      return found;
    },
  };
}

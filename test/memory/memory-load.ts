/** Runs the connector in its own process under a load that is too fast for its service, and reads its memory from the kernel. */
import { eventually } from '../support/eventually.ts';
import type { NewRecord, TestKafka } from '../support/kafka/kafka.ts';
import { residentMiBOf } from '../support/process-time.ts';
import { Sandbox } from '../support/stack/sandbox.ts';
import { type Replica, type Stack, startStack } from '../support/stack/stack.ts';

/** The built package, started like src/cli/main.ts. From source, the memory would include Node's TypeScript compiler. */
const CONNECTOR = [
  '--max-semi-space-size=8',
  new URL('../../dist/src/cli/main.js', import.meta.url).pathname,
];
const MAX_RECORD_BYTES = 4 * 1024 * 1024;
const MIB = 1024 * 1024;
/** Number of records per write. The test's own memory is not measured, but must not exhaust the machine. */
const WRITE_RECORDS = 20_000;
const WRITE_BYTES = 32 * MIB;
const DRAIN_MS = 240_000;

export interface LoadOptions {
  readonly partitions: number;
  /** Memory budget, MiB. */
  readonly budget: number;
  readonly batch: Readonly<Record<string, unknown>>;
  /** Time that the service takes for each upload. */
  readonly uploadDelay: string;
}

export interface Event {
  readonly partition: number;
  readonly type: string;
  readonly content: string;
}

export class Load {
  readonly stack: Stack;
  readonly replica: Replica;
  readonly sandbox: Sandbox;
  readonly #kafka: TestKafka;
  readonly #source: string;
  produced = 0;

  private constructor(kafka: TestKafka, stack: Stack, source: string, replica: Replica) {
    this.#kafka = kafka;
    this.stack = stack;
    this.#source = source;
    this.replica = replica;
    this.sandbox = new Sandbox(stack.sandboxUrl);
  }

  static async start(kafka: TestKafka, directory: string, options: LoadOptions): Promise<Load> {
    const settings = { 'max.message.bytes': String(MAX_RECORD_BYTES) };
    const source = await kafka.createTopic('content', { partitions: options.partitions, settings });
    const stack = await startStack(kafka, directory, {
      partitions: 1,
      connector: CONNECTOR,
      policy: {
        faults: [
          { operation: 'upload', action: 'latency', delay: options.uploadDelay, times: 'always' },
        ],
      },
      pipeline: {
        source: { topic: source },
        batch: options.batch,
        review: { poll: '2s' },
      },
      config: { memory: { budget: `${options.budget}MiB` } },
    });
    const replica = await stack.startReplica();
    const load = new Load(kafka, stack, source, replica);
    await eventually(
      'every shard is owned',
      async () => (await load.gauge('shards_owned')) === options.partitions,
      {
        deadlineMs: 60_000,
        everyMs: 100,
      },
    );
    return load;
  }

  /** Resolves when the last event is in the source topic. */
  async produce(events: Iterable<Event>): Promise<void> {
    let records: NewRecord[] = [];
    let bytes = 0;
    const write = async () => {
      await this.#kafka.write(this.#source, records);
      this.produced += records.length;
      records = [];
      bytes = 0;
    };
    for (const { partition, type, content } of events) {
      const value = JSON.stringify({
        type,
        content,
        metadata: { n: this.produced + records.length },
      });
      records.push({ partition, key: null, value });
      bytes += value.length;
      if (records.length >= WRITE_RECORDS || bytes >= WRITE_BYTES) await write();
    }
    if (records.length > 0) await write();
  }

  gauge(name: string, labels: Readonly<Record<string, string>> = {}): Promise<number> {
    return this.replica.metric(name, labels);
  }

  async decided(): Promise<void> {
    await eventually(
      'every record is decided',
      async () => (await this.gauge('decisions_total')) >= this.produced,
      {
        deadlineMs: DRAIN_MS,
        everyMs: 200,
      },
    );
  }

  /** Counts the source records without a decision, and the records with several decisions. */
  async judge(): Promise<{ readonly missing: number; readonly twice: number }> {
    const decisions = await this.#kafka.readAll(this.stack.topics.decisions);
    const seen = new Set<string>();
    for (const { value } of decisions) {
      const { source } = JSON.parse(String(value)) as {
        source: { partition: number; offset: number };
      };
      seen.add(`${source.partition}:${source.offset}`);
    }
    return { missing: this.produced - seen.size, twice: decisions.length - seen.size };
  }

  /** Peak of the resident memory, MiB. */
  peakMiB(): number {
    return residentMiBOf(this.replica.process.pid, 'VmHWM');
  }
}

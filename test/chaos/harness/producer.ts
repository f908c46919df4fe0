/** Writes events steadily and keeps a journal of them; where they went is read from the source topic itself. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { SourceCoordinate } from '../../../src/core/record.ts';
import { BatchRefused, RawProducer } from '../../support/kafka/raw-producer.ts';
import type { SeededRandom } from '../../support/memory/clock.ts';
import { TopicWriter } from '../../support/stack/topic-writer.ts';
import type { ChaosEvent } from '../load/events.ts';
import type { HostileEvents } from '../load/hostile-parts.ts';
import type { HostileWrite } from './faults/hostile-writes.ts';
import { traceOf } from './observe/trace-of.ts';

/** One write in so many comes with transactions beside it. */
const TRANSACTIONS_EVERY = 8;
/** A transaction whose end got lost is the broker's to abort, and holds read_committed readers back until then. */
const TRANSACTION_TIMEOUT_MS = 8_000;

/** `unsure`: the answer got lost, so that only the topic knows. */
export type Fate = 'written' | 'aborted' | 'unsure';

export interface Journaled {
  /** As it must come out. */
  event: ChaosEvent;
  fate: Fate;
}

export interface ProducerOptions {
  readonly brokers: readonly string[];
  readonly topic: string;
  readonly random: SeededRandom;
  readonly events: HostileEvents;
  readonly partitions: number;
  /** Records a second, and ms between two writes: each goes to all partitions, and some to transactions beside. */
  readonly rate: number;
  readonly periodMs: number;
  /** Asked before each write: while so much is due, nothing is added, so that a slow machine is not a backlog. */
  readonly isFull: () => boolean;
  /** Must be through before events that were just made are written; if it rejects they never are. */
  readonly prepare?: () => Promise<void>;
}

export class Producer {
  /** By the event's header `trace`. */
  readonly journal = new Map<string, Journaled>();
  /** The topic's, as far as the producer may use them. */
  partitions: number;
  aborted = 0;
  /** Offsets of batches that hold no event and cannot be read, as `<partition>:<offset>`. */
  readonly bombs = new Set<string>();
  readonly #options: ProducerOptions;
  readonly #over = new AbortController();
  #writer: TopicWriter;
  #raw: RawProducer;
  #running: Promise<void> | undefined;

  constructor(options: ProducerOptions) {
    this.#options = options;
    this.partitions = options.partitions;
    this.#writer = new TopicWriter(options.brokers);
    this.#raw = new RawProducer(options.brokers);
  }

  start(): void {
    this.#running = this.#run();
  }

  /** No new writes; those under way end. */
  async stop(): Promise<void> {
    this.#over.abort();
    await this.#running;
    await this.#raw.close();
    await this.#writer.close().catch(() => undefined);
  }

  /**
   * Writes what no honest producer would, to one partition.
   * @returns where its records are; undefined when an answer got lost, or Kafka does not answer
   * @throws BatchRefused when the broker does not take such a batch
   */
  async writeHostile(write: HostileWrite): Promise<readonly SourceCoordinate[] | undefined> {
    const { random, topic } = this.#options;
    const partition = random.below(this.partitions);
    const events = await this.#some(write.count, partition);
    if (events.length < write.count) return undefined;
    const places: SourceCoordinate[] = [];
    const batches = write.make(events, random);
    const entries = new Map(
      events.map((event) => [traceOf(event), this.#note([event])[0] as Journaled]),
    );
    for (const { bytes, written } of batches) {
      for (const [trace, event] of written) (entries.get(trace) as Journaled).event = event;
      const offset = await this.#raw.write(topic, partition, bytes).catch((error: unknown) => {
        if (error instanceof BatchRefused && error.isFinal) throw error;
        return undefined;
      });
      if (offset === undefined) return undefined;
      for (const [trace] of written) (entries.get(trace) as Journaled).fate = 'written';
      if (written.size === 0) this.bombs.add(`${partition}:${offset}`);
      for (let index = 0; index < Math.max(1, written.size); index++)
        places.push({ partition, offset: offset + index });
    }
    return places;
  }

  /** Partitions were added: from now on they are written to. */
  widen(partitions: number): void {
    this.partitions = partitions;
    // kafkajs writes nothing, and says nothing, to partitions that it does not know yet.
    this.#renew();
  }

  async #run(): Promise<void> {
    const { rate, periodMs, random, isFull } = this.#options;
    const count = Math.max(1, Math.round((rate * periodMs) / 1_000));
    for (let write = 1; !this.#over.signal.aborted; write++) {
      const startedMs = performance.now();
      if (!isFull())
        await Promise.all([
          this.#write(1 + random.below(2 * count - 1)),
          write % TRANSACTIONS_EVERY === 0 ? this.#transactions() : undefined,
        ]);
      const restMs = Math.max(0, startedMs + periodMs - performance.now());
      await sleep(restMs, undefined, { signal: this.#over.signal }).catch(() => undefined);
    }
  }

  async #write(count: number): Promise<void> {
    const events = await this.#some(count);
    if (events.length === 0) return;
    const entries = this.#note(events);
    const writer = this.#writer;
    try {
      await writer.write(this.#options.topic, events);
      for (const entry of entries) entry.fate = 'written';
    } catch {
      if (writer === this.#writer) this.#renew();
    }
  }

  /** Several at once, so that they interleave; one commits. */
  async #transactions(): Promise<void> {
    const committed = this.#options.random.below(3);
    await Promise.all(
      [5, 7, 6].map(async (count, index) => {
        const events = await this.#some(count);
        if (events.length === 0) return;
        const entries = this.#note(events);
        const end = index === committed ? 'commit' : 'abort';
        try {
          await this.#writer.writeTransaction(this.#options.topic, events, end, {
            timeoutMs: TRANSACTION_TIMEOUT_MS,
          });
        } catch {
          return;
        }
        for (const entry of entries) entry.fate = end === 'commit' ? 'written' : 'aborted';
        if (end === 'abort') this.aborted += events.length;
      }),
    );
  }

  #note(events: readonly ChaosEvent[]): Journaled[] {
    return events.map((event) => {
      const entry: Journaled = { event, fate: 'unsure' };
      this.journal.set(traceOf(event), entry);
      return entry;
    });
  }

  /** @returns none when they cannot be prepared. */
  async #some(count: number, partition?: number): Promise<ChaosEvent[]> {
    const { random, events, prepare } = this.#options;
    const some = Array.from({ length: count }, () =>
      events.next(partition ?? random.below(this.partitions)),
    );
    try {
      await prepare?.();
      return some;
    } catch {
      return [];
    }
  }

  #renew(): void {
    const old = this.#writer;
    this.#writer = new TopicWriter(this.#options.brokers);
    void old.close().catch(() => undefined);
  }
}

/** Writes events steadily and keeps a journal of them. Their offsets are read from the source topic itself. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { SourceCoordinate } from '../../../src/core/record.ts';
import { BatchRefused, RawProducer } from '../../support/kafka/raw-producer.ts';
import type { SeededRandom } from '../../support/memory/clock.ts';
import { TopicWriter } from '../../support/stack/topic-writer.ts';
import type { ChaosEvent } from '../load/events.ts';
import type { HostileEvents } from '../load/hostile-parts.ts';
import type { HostileWrite } from './faults/hostile-writes.ts';
import { traceOf } from './observe/trace-of.ts';

/** One write out of this number includes transactions. */
const TRANSACTIONS_EVERY = 8;
/**
 * Timeout of transactions. If the response to an EndTxn is lost, the transaction blocks read_committed readers for
 * this time.
 */
const TRANSACTION_TIMEOUT_MS = 8_000;

/** `unsure`: the response was lost, so only the topic shows whether the event was written. */
export type Fate = 'written' | 'aborted' | 'unsure';

export interface Journaled {
  /** Event with its expected outcome. */
  event: ChaosEvent;
  fate: Fate;
}

export interface ProducerOptions {
  readonly brokers: readonly string[];
  readonly topic: string;
  readonly random: SeededRandom;
  readonly events: HostileEvents;
  readonly partitions: number;
  /** Records per second, and the interval of writes in ms. Each write goes to all partitions; some include transactions. */
  readonly rate: number;
  readonly periodMs: number;
  /** Called before each write. While it returns true nothing is written, so that a slow machine gets no backlog. */
  readonly isFull: () => boolean;
  /** Called after events were made and before they are written. If it rejects, the events are not written. */
  readonly prepare?: () => Promise<void>;
}

export class Producer {
  /** Events by their header `trace`. */
  readonly journal = new Map<string, Journaled>();
  /** Number of partitions that the producer may use. */
  partitions: number;
  aborted = 0;
  /** Offsets of unreadable batches without events, as `<partition>:<offset>`. */
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

  /** Stops after the current writes. */
  async stop(): Promise<void> {
    this.#over.abort();
    await this.#running;
    await this.#raw.close();
    await this.#writer.close().catch(() => undefined);
  }

  /**
   * Writes a hostile batch to one partition.
   * @returns the coordinates of its records, or undefined if a response was lost or Kafka does not respond
   * @throws BatchRefused if the broker refuses the batch
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

  /** Uses added partitions from now on. */
  widen(partitions: number): void {
    this.partitions = partitions;
    // kafkajs silently drops records for partitions that it does not know yet.
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

  /** Runs several transactions concurrently, so that they interleave. One of them commits. */
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

  /** @returns an empty list if the events cannot be prepared */
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

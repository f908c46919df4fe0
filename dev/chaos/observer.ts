/**
 * Reads source and outputs all the time, as a read_committed consumer, tells the ledger, and watches the clock: how long does a
 * partition with records that are due get no terminal record?
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Produced } from '../../test/chaos/judge.ts';
import type { TestKafka } from '../../test/support/kafka.ts';
import type { StackTopics } from '../../test/support/stack.ts';
import type { ReadRecord, TopicReader } from '../../test/support/topic-reader.ts';
import type { Ledger } from './ledger.ts';
import type { Producer } from './producer.ts';

const PERIOD_MS = 200;

export class Observer {
  readonly decisions: ReadRecord[] = [];
  readonly deadLetters: ReadRecord[] = [];
  /** Every committed record of the source. */
  readonly produced: Produced[] = [];
  /** Traces of everything in `produced`. */
  readonly seen = new Set<string>();
  /** What should not have been in the source topic. */
  readonly oddities: string[] = [];
  /** Longest stall while the label was on, ms. */
  readonly stalls = new Map<string, number>();
  readonly #readers: Record<'source' | 'decisions' | 'deadLetters', TopicReader>;
  readonly #ledger: Ledger;
  readonly #producer: Producer;
  readonly #labels = new Set<string>();
  /** By partition: when it last got a terminal record, or began to owe one. */
  readonly #movedMs = new Map<number, number>();
  readonly #over = new AbortController();
  #reading: Promise<void> = Promise.resolve();
  #running: Promise<void> | undefined;

  constructor(kafka: TestKafka, topics: StackTopics, ledger: Ledger, producer: Producer) {
    this.#readers = {
      source: kafka.reader(topics.source),
      decisions: kafka.reader(topics.decisions),
      deadLetters: kafka.reader(topics.deadLetters),
    };
    this.#ledger = ledger;
    this.#producer = producer;
  }

  start(): void {
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#over.abort();
    await this.#running;
  }

  /** Stalls from here on are this label's, until `unlabel`. */
  label(label: string): void {
    this.#labels.add(label);
    if (!this.stalls.has(label)) this.stalls.set(label, 0);
  }

  unlabel(label: string): void {
    this.#labels.delete(label);
  }

  /** By partition with records due: ms since it last got a terminal record. */
  waitingMs(): Map<number, number> {
    const nowMs = performance.now();
    const waiting = new Map<number, number>();
    for (const [partition, due] of this.#ledger.dueByPartition()) {
      if (due > 0) waiting.set(partition, nowMs - (this.#movedMs.get(partition) ?? nowMs));
    }
    return waiting;
  }

  /** When a partition last moved, `performance.now()`; undefined when nothing is due in it. */
  owingSinceMs(): Map<number, number> {
    return new Map(
      [...this.#ledger.dueByPartition()]
        .filter(([, due]) => due > 0)
        .map(([partition]) => [partition, this.#movedMs.get(partition) ?? 0]),
    );
  }

  /** Reads everything that is committed now. */
  refresh(): Promise<void> {
    this.#reading = this.#reading.catch(() => undefined).then(() => this.#read());
    return this.#reading;
  }

  /** Whether no transaction is undecided in source and outputs. */
  async isStable(): Promise<boolean> {
    for (const reader of Object.values(this.#readers)) if (!(await reader.isStable())) return false;
    return true;
  }

  async #run(): Promise<void> {
    while (!this.#over.signal.aborted) {
      // A broker that is down is sat out by the readers; longer, and the stall shows in the report.
      await this.refresh().catch(() => undefined);
      for (const [, waitedMs] of this.waitingMs()) {
        for (const label of this.#labels) this.stalls.set(label, Math.max(waitedMs, this.stalls.get(label) ?? 0));
      }
      await sleep(PERIOD_MS, undefined, { signal: this.#over.signal }).catch(() => undefined);
    }
  }

  async #read(): Promise<void> {
    // Outputs first: the source then has every record that they answer for.
    const decisions = await this.#readers.decisions.readToEnd();
    const deadLetters = await this.#readers.deadLetters.readToEnd();
    const source = await this.#readers.source.readToEnd();
    for (const record of source) this.#take(record);
    for (const record of decisions) {
      this.decisions.push(record);
      const { source: at, id } = JSON.parse(String(record.value)) as {
        id: string;
        source: { partition: number; offset: number };
      };
      this.#terminal(at.partition, at.offset, id);
    }
    for (const record of deadLetters) {
      this.deadLetters.push(record);
      const header = (name: string) => String(record.headers[name]);
      this.#terminal(Number(header('dead-letter-partition')), Number(header('dead-letter-offset')), header('event-id'));
    }
  }

  #take(record: ReadRecord): void {
    const trace = String(record.headers.trace);
    const entry = this.#producer.journal.get(trace);
    const { partition, offset } = record;
    if (entry === undefined || entry.event.partition !== partition) {
      this.oddities.push(`${partition}:${offset} of the source holds ${trace}, which was not written there`);
      return;
    }
    if (entry.fate === 'aborted') this.oddities.push(`${partition}:${offset} of the source holds ${trace}, which was aborted`);
    this.produced.push({ ...entry.event, offset });
    if ((this.#ledger.dueByPartition().get(partition) ?? 0) === 0) this.#movedMs.set(partition, performance.now());
    this.#ledger.produced(partition, offset);
    this.seen.add(trace);
  }

  #terminal(partition: number, offset: number, eventId: string): void {
    this.#ledger.terminal(partition, offset, Number(/#(\d+)$/.exec(eventId)?.[1] ?? 0));
    this.#movedMs.set(partition, performance.now());
  }
}

/** How a group member reads one partition: one fetch at a time, each a request and an answer that other things get between. */
import type { FetchedBatch, Stream } from '../../../src/core/ports/kafka.ts';
import type { Home, PipelineTopics } from './client.ts';
import type { MemoryKafka } from './kafka.ts';
import { type LogRead, type PartitionLog, wireBytes } from './partition-log.ts';

export interface FetchContext {
  readonly kafka: MemoryKafka;
  readonly home: Home;
  readonly member: string;
  readonly topics: PipelineTopics;
  /** Whether the generation that the fetcher belongs to is still this member's. */
  readonly isLive: () => boolean;
  readonly isCut: () => boolean;
  readonly deliver: (batch: FetchedBatch) => void;
}

export class PartitionFetcher {
  readonly #context: FetchContext;
  readonly #stream: Stream;
  readonly #partition: number;
  #position: number;
  #paused = true;
  #underWay = false;
  /** Counts seeks: tells an answer to a fetch from before the last one. */
  #seeks = 0;

  constructor(context: FetchContext, stream: Stream, partition: number, position: number) {
    this.#context = context;
    this.#stream = stream;
    this.#partition = partition;
    this.#position = position;
  }

  seek(offset: number): void {
    this.#position = offset;
    this.#seeks++;
    this.fetchSoon();
  }

  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    this.#paused = false;
    this.fetchSoon();
  }

  /** Asks for the next batch, unless there is nothing to read, or one is under way already. */
  fetchSoon(): void {
    const { kafka, home, member, isLive, isCut } = this.#context;
    if (this.#underWay || this.#paused || isCut() || !isLive() || !this.#hasMore()) return;
    this.#underWay = true;
    const from = this.#position;
    const seeks = this.#seeks;
    const channel = `fetch/${member}/${this.#stream}-${this.#partition}`;
    kafka.network.defer(channel, () => {
      const limit = kafka.hooks.batchRecords?.(member, this.#stream, this.#partition) ?? kafka.settings.maxBatchRecords;
      const read = this.#log()?.read(from, limit);
      home.defer(channel, () => this.#answered(read, seeks));
    });
  }

  #answered(read: LogRead | undefined, seeks: number): void {
    const { kafka, member, isLive, isCut, deliver } = this.#context;
    this.#underWay = false;
    if (!isLive() || isCut() || read === undefined) return;
    const sought = seeks !== this.#seeks;
    const stale = sought || this.#paused;
    if (!stale || kafka.hooks.deliverStale?.(member, this.#stream, this.#partition) === true) {
      // A seek made meanwhile stands; one made by the listener wins over this batch.
      if (!sought) this.#position = read.nextOffset;
      if (this.#isWorthDelivering(read)) deliver(this.#toBatch(read));
    }
    this.fetchSoon();
  }

  #isWorthDelivering(read: LogRead): boolean {
    if (read.records.length > 0) return true;
    return this.#context.kafka.settings.deliverEmptyBatches && read.nextOffset > read.fetchOffset;
  }

  #toBatch(read: LogRead): FetchedBatch {
    const bytes = read.records.reduce((sum, record) => sum + wireBytes(record), 0);
    return { stream: this.#stream, partition: this.#partition, ...read, bytes };
  }

  /** A position out of range counts as something to read: the answer begins at the log's start. */
  #hasMore(): boolean {
    const log = this.#log();
    if (log === undefined) return false;
    const at = this.#position < log.start || this.#position > log.end ? log.start : this.#position;
    if (at >= log.stableEnd) this.#position = at;
    return at < log.stableEnd;
  }

  /** undefined when the topic is gone. */
  #log(): PartitionLog | undefined {
    const { cluster } = this.#context.kafka;
    const topic = this.#context.topics[this.#stream];
    return this.#partition < cluster.partitions(topic) ? cluster.log(topic, this.#partition) : undefined;
  }
}

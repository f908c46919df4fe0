/**
 * Fetch loop of a group member for one partition. It has one fetch in flight at a time; other steps may run between
 * the request and its response.
 */
import type { FetchedBatch, Stream, UnreadPartition } from '../../../../src/core/ports/kafka.ts';
import type { Home, PipelineTopics } from './client.ts';
import type { MemoryKafka } from './kafka.ts';
import { type LogRead, type PartitionLog, wireBytes } from './partition-log.ts';
import { memoryBatch } from './pieces.ts';

/**
 * Interval between checks of a position above the log's end, ms. Only a seek or growth of the log makes such a position
 * valid.
 */
const OUTSIDE_RETRY_MS = 5_000;

export interface FetchContext {
  readonly kafka: MemoryKafka;
  readonly home: Home;
  readonly member: string;
  readonly topics: PipelineTopics;
  /** True if the fetcher's generation is still the member's current one. */
  readonly isLive: () => boolean;
  readonly isCut: () => boolean;
  readonly deliver: (batch: FetchedBatch) => void;
}

export class PartitionFetcher {
  readonly #context: FetchContext;
  readonly #stream: Stream;
  readonly #partition: number;
  /** undefined until the first seek; nothing is read before it. */
  #position: number | undefined;
  #paused = true;
  #underWay = false;
  /** Number of seeks, which identifies responses to fetches that began before the last seek. */
  #seeks = 0;
  /** True if the position was above the end at the last check, until the next check is due. */
  #outside = false;
  /** Error of the last fetch. */
  #error: string | undefined;

  constructor(context: FetchContext, stream: Stream, partition: number) {
    this.#context = context;
    this.#stream = stream;
    this.#partition = partition;
  }

  seek(offset: number): void {
    this.#position = offset;
    this.#outside = false;
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

  /** Position at which fetches fail, with the error. */
  get unread(): UnreadPartition | undefined {
    const [stream, partition, offset, error] = [
      this.#stream,
      this.#partition,
      this.#position,
      this.#error,
    ];
    if (error === undefined || offset === undefined || this.#paused) return undefined;
    return { stream, partition, offset, error };
  }

  /** Requests the next batch, unless there is nothing to read or a fetch is in flight. */
  fetchSoon(): void {
    const { kafka, home, member, isLive, isCut } = this.#context;
    const from = this.#position;
    if (
      from === undefined ||
      this.#underWay ||
      this.#paused ||
      isCut() ||
      !isLive() ||
      !this.#hasMore(from)
    )
      return;
    this.#underWay = true;
    const seeks = this.#seeks;
    const channel = `fetch/${member}/${this.#stream}-${this.#partition}`;
    kafka.network.defer(channel, () => {
      const limit =
        kafka.hooks.batchRecords?.(member, this.#stream, this.#partition) ??
        kafka.settings.maxBatchRecords;
      const { topics } = this.#context;
      const error = kafka.hooks.partitionFailure?.('fetch', topics[this.#stream], this.#partition);
      const read = error === undefined ? this.#log()?.read(from, limit) : undefined;
      home.defer(channel, () => {
        this.#error = error;
        if (error !== undefined) home.after(OUTSIDE_RETRY_MS, () => this.fetchSoon());
        this.#answered(read, seeks);
      });
    });
  }

  #answered(read: LogRead | undefined, seeks: number): void {
    const { kafka, member, isLive, isCut, deliver } = this.#context;
    this.#underWay = false;
    if (!isLive() || isCut() || read === undefined) return;
    const sought = seeks !== this.#seeks;
    const stale = sought || this.#paused;
    if (!stale || kafka.hooks.deliverStale?.(member, this.#stream, this.#partition) === true) {
      // A seek during the fetch has already set the position. Moves it before the delivery, so that a seek by the
      // listener takes precedence.
      if (!sought) this.#moveTo(read);
      deliver(this.#toBatch(read));
    }
    this.fetchSoon();
  }

  #moveTo(read: LogRead): void {
    this.#position = read.nextOffset;
    if (this.#log()?.isOutOfRange(read.nextOffset) !== true) return;
    this.#outside = true;
    const seeks = this.#seeks;
    this.#context.home.after(OUTSIDE_RETRY_MS, () => {
      if (seeks !== this.#seeks) return;
      this.#outside = false;
      this.fetchSoon();
    });
  }

  #toBatch(read: LogRead): FetchedBatch {
    const bytes = read.records.reduce((sum, record) => sum + wireBytes(record), 0);
    const { fetchOffset, nextOffset, endOffset, pieces } = read;
    return memoryBatch(
      {
        stream: this.#stream,
        partition: this.#partition,
        fetchOffset,
        nextOffset,
        endOffset,
        bytes,
      },
      pieces,
    );
  }

  /** True if there is something to fetch. A position out of range gets an empty batch with the range of the log. */
  #hasMore(from: number): boolean {
    const log = this.#log();
    if (log === undefined || this.#outside) return false;
    return from < log.stableEnd || log.isOutOfRange(from);
  }

  /** Returns undefined if the topic has been deleted. */
  #log(): PartitionLog | undefined {
    const { cluster } = this.#context.kafka;
    const topic = this.#context.topics[this.#stream];
    return this.#partition < cluster.partitions(topic)
      ? cluster.log(topic, this.#partition)
      : undefined;
  }
}

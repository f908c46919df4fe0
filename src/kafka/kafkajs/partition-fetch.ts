/**
 * Fetched bytes of one partition, with the headers of their batches. Replaces kafkajs's Batch
 * (patches 2 and 3 of docs/internals/kafkajs.md). Records are decoded only when they are read.
 * Therefore no batch can end kafkajs's fetch loop, and the next offset is known even if no record
 * is visible.
 */
import type { FetchedBatch, RecordPiece, ReserveMemory, Stream } from '../../core/ports/kafka.ts';
import type { UnusableOffset } from '../errors.ts';
import { type FetchedBytes, lastBatch, type ReadLimits, readPieces } from '../records/index.ts';
import type { FetchedPartition } from './shapes.ts';

/** Limits of topics that the connector writes itself. */
export const OWN_TOPIC_LIMITS: ReadLimits = {
  maxRecordBytes: 128 * 1024 * 1024,
  maxHeaders: 110_000,
  maxBatchUnpackedBytes: 1024 ** 3,
};

export class PartitionFetch {
  readonly topic: string;
  readonly partition: number;
  readonly highWatermark: string;
  readonly fetchedOffset: string;
  /** Always empty. kafkajs reads the length of this array. */
  readonly messages: readonly never[] = [];
  readonly fetchOffset: number;
  readonly nextOffset: number;
  /** Last stable offset: the end for a read_committed consumer. */
  readonly endOffset: number;
  /** Node in the client's rack that the leader has named instead of returning records, or -1. */
  readonly preferredReplica: number;
  #fetched: FetchedBytes;
  /**
   * Error of this partition: from the broker, or because the log has grown beyond 2^53 offsets.
   * `pieces` throws it.
   */
  readonly failure: Error | undefined;

  constructor(topic: string, fetchedOffset: string, data: FetchedPartition) {
    this.topic = topic;
    this.partition = data.partition;
    this.highWatermark = data.highWatermark;
    this.fetchedOffset = fetchedOffset;
    this.fetchOffset = Number(fetchedOffset);
    this.endOffset = Number(data.lastStableOffset ?? data.highWatermark);
    this.preferredReplica = data.preferredReadReplica ?? -1;
    const fetched: FetchedBytes = {
      partition: data.partition,
      fetchOffset: this.fetchOffset,
      endOffset: Number(data.highWatermark),
      bytes: data.messages,
      aborted: data.abortedTransactions ?? [],
    };
    let { failure } = data;
    let last: ReturnType<typeof lastBatch>;
    try {
      last = lastBatch(fetched);
    } catch (error) {
      failure ??= error as UnusableOffset;
    }
    this.failure = failure;
    this.#fetched = { ...fetched, lastIntact: last?.intact };
    this.nextOffset = last?.to ?? this.fetchOffset;
  }

  get bytes(): number {
    return this.#fetched.bytes.length;
  }

  /** Reads the records that a read_committed consumer may see. */
  pieces(limits: ReadLimits, reserve?: ReserveMemory): AsyncIterable<RecordPiece> {
    if (this.failure !== undefined) throw this.failure;
    return readPieces(this.#fetched, limits, reserve);
  }

  /**
   * Returns a batch that has its own copy of the bytes, which is freed as soon as it has been read.
   * The response itself becomes garbage at once, so it is collected with the young generation
   * instead of at the next full collection.
   */
  toFetchedBatch(stream: Stream, limits: ReadLimits): FetchedBatch {
    const { partition, fetchOffset, nextOffset: next, endOffset, bytes } = this;
    const copy = Buffer.allocUnsafeSlow(bytes);
    this.#fetched.bytes.copy(copy);
    this.#fetched = { ...this.#fetched, bytes: copy };
    return {
      stream,
      partition,
      fetchOffset,
      nextOffset: next,
      endOffset,
      bytes,
      pieces: (reserve) => this.pieces(limits, reserve),
      release: () => void copy.buffer.transfer(0),
    };
  }

  /** True if kafkajs need not deliver this batch. A batch that moves the position must be delivered. */
  isEmpty(): boolean {
    return this.nextOffset === this.fetchOffset && this.failure === undefined;
  }

  /** Always false: kafkajs would resolve such a batch without calling the handler. */
  isEmptyDueToFiltering(): boolean {
    return false;
  }

  firstOffset(): string | null {
    return this.isEmpty() ? null : this.fetchedOffset;
  }

  lastOffset(): string {
    return String(this.nextOffset - 1);
  }

  /** Only used for kafkajs's events, which have no listeners. */
  offsetLag(): string {
    return '';
  }

  offsetLagLow(): string {
    return '';
  }
}

/**
 * What one fetch brought for one partition: bytes, and what the headers of their batches say. Takes the place of kafkajs's Batch
 * (see kafkajs-fixes.ts, mends 2 and 3): nothing is decoded before it is asked for, so that no batch can fail kafkajs's fetch
 * loop, and the fetch knows where the log goes on even when nothing in it is visible.
 */
import type {
  AdmitLargeRecord,
  FetchedBatch,
  RecordPiece,
  Stream,
} from '../../core/ports/kafka.ts';
import type { FetchedPartition } from '../kafkajs/shapes.ts';
import { type FetchedBytes, lastBatch, type ReadLimits, readPieces } from '../records/index.ts';
import type { UnusableOffset } from '../records/offsets.ts';

/** For topics that the connector writes itself, whose records are as large as their producer made them. */
export const OWN_TOPIC_LIMITS: ReadLimits = {
  maxRecordBytes: 128 * 1024 * 1024,
  maxHeaders: 110_000,
  maxBatchUnpackedBytes: 1024 ** 3,
};

/** Records of other topics are read one at a time, whatever their size: their reader holds nothing else. */
export const ADMIT_ALL: AdmitLargeRecord = async () => () => undefined;

export class PartitionFetch {
  readonly topic: string;
  readonly partition: number;
  readonly highWatermark: string;
  readonly fetchedOffset: string;
  /** kafkajs looks at how many there are. */
  readonly messages: readonly never[] = [];
  readonly fetchOffset: number;
  readonly nextOffset: number;
  /** Last stable offset: what a read_committed consumer can reach. */
  readonly endOffset: number;
  readonly #fetched: FetchedBytes;
  /** Failure for a log that has grown beyond 2^53 offsets: reading its pieces throws it. */
  readonly failure: UnusableOffset | undefined;

  constructor(topic: string, fetchedOffset: string, data: FetchedPartition) {
    this.topic = topic;
    this.partition = data.partition;
    this.highWatermark = data.highWatermark;
    this.fetchedOffset = fetchedOffset;
    this.fetchOffset = Number(fetchedOffset);
    this.endOffset = Number(data.lastStableOffset ?? data.highWatermark);
    const fetched: FetchedBytes = {
      partition: data.partition,
      fetchOffset: this.fetchOffset,
      endOffset: Number(data.highWatermark),
      bytes: data.messages,
      aborted: data.abortedTransactions ?? [],
    };
    let last: ReturnType<typeof lastBatch>;
    try {
      last = lastBatch(fetched);
    } catch (error) {
      this.failure = error as UnusableOffset;
    }
    this.#fetched = { ...fetched, lastIntact: last?.intact };
    this.nextOffset = last?.to ?? this.fetchOffset;
  }

  get bytes(): number {
    return this.#fetched.bytes.length;
  }

  /** The records that a read_committed consumer may see. */
  pieces(limits: ReadLimits, admit: AdmitLargeRecord): AsyncIterable<RecordPiece> {
    return readPieces(this.#fetched, limits, admit);
  }

  toFetchedBatch(stream: Stream, limits: ReadLimits): FetchedBatch {
    const { partition, fetchOffset, nextOffset: next, endOffset, bytes } = this;
    return {
      stream,
      partition,
      fetchOffset,
      nextOffset: next,
      endOffset,
      bytes,
      pieces: (admit) => this.pieces(limits, admit),
    };
  }

  /** kafkajs leaves an empty batch out: this one is delivered whenever it moves the position. */
  isEmpty(): boolean {
    return this.nextOffset === this.fetchOffset && this.failure === undefined;
  }

  /** kafkajs resolves such batches behind the handler's back: there are none. */
  isEmptyDueToFiltering(): boolean {
    return false;
  }

  firstOffset(): string | null {
    return this.isEmpty() ? null : this.fetchedOffset;
  }

  lastOffset(): string {
    return String(this.nextOffset - 1);
  }

  /** For events of kafkajs that nothing listens to. */
  offsetLag(): string {
    return '';
  }

  offsetLagLow(): string {
    return '';
  }
}

/**
 * What one fetch brought for one partition, as a read_committed consumer may see it. Takes the place of kafkajs's Batch
 * (see kafkajs-fixes.ts, mends 2 and 3): records of aborted transactions and control records are left out, and the fetch
 * knows where the log goes on even when nothing in it is visible.
 */

/** A record as kafkajs decodes it. Key, value and header values are slices of the whole fetch response. */
export interface DecodedMessage {
  readonly offset: string;
  readonly timestamp: string;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers?: Record<string, Buffer | string | null | (Buffer | string | null)[] | undefined>;
  /** Only in the current message format. */
  readonly isControlRecord?: boolean;
  readonly batchContext?: { readonly producerId: string; readonly inTransaction: boolean };
}

interface AbortedTransaction {
  readonly producerId: string;
  readonly firstOffset: string;
}

/** One partition of a fetch response. */
export interface PartitionData {
  readonly partition: number;
  readonly highWatermark: string;
  readonly lastStableOffset?: string;
  readonly abortedTransactions?: readonly AbortedTransaction[] | null;
  /** `nextOffset`: one past the last complete batch, as its header tells it. */
  readonly messages: DecodedMessage[] & { nextOffset?: number };
}

/** The key of a control record: version (int16), then its type (int16): 0 aborts, 1 commits. */
const ABORT = 0;

export class PartitionFetch {
  readonly topic: string;
  readonly partition: number;
  readonly highWatermark: string;
  readonly fetchedOffset: string;
  /** Visible records, in order. */
  readonly messages: readonly DecodedMessage[];
  readonly fetchOffset: number;
  readonly nextOffset: number;
  /** Last stable offset: what a read_committed consumer can reach. */
  readonly endOffset: number;

  constructor(topic: string, fetchedOffset: string, data: PartitionData) {
    this.topic = topic;
    this.partition = data.partition;
    this.highWatermark = data.highWatermark;
    this.fetchedOffset = fetchedOffset;
    this.fetchOffset = Number(fetchedOffset);
    this.endOffset = Number(data.lastStableOffset ?? data.highWatermark);
    this.messages = visible(data, this.fetchOffset);
    const last = data.messages[data.messages.length - 1];
    const passed = data.messages.nextOffset ?? (last === undefined ? this.fetchOffset : Number(last.offset) + 1);
    this.nextOffset = Math.max(this.fetchOffset, passed);
  }

  /** kafkajs leaves an empty batch out: this one is delivered whenever it moves the position. */
  isEmpty(): boolean {
    return this.nextOffset === this.fetchOffset;
  }

  /** kafkajs resolves such batches behind the handler's back: there are none. */
  isEmptyDueToFiltering(): boolean {
    return false;
  }

  firstOffset(): string | null {
    return this.messages[0]?.offset ?? null;
  }

  lastOffset(): string {
    return String(this.nextOffset - 1);
  }

  offsetLag(): string {
    return String(Number(this.highWatermark) - this.nextOffset);
  }

  offsetLagLow(): string {
    return String(Number(this.highWatermark) - 1 - Number(this.firstOffset() ?? this.fetchedOffset));
  }
}

function visible(data: PartitionData, from: number): DecodedMessage[] {
  // Brokers promise no order, and transactions of several producers interleave.
  const aborted = [...(data.abortedTransactions ?? [])]
    .map(({ producerId, firstOffset }) => ({ producerId, firstOffset: Number(firstOffset) }))
    .sort((a, b) => a.firstOffset - b.firstOffset);
  const aborting = new Set<string>();
  let nextAborted = 0;
  const messages: DecodedMessage[] = [];
  for (const message of data.messages) {
    const offset = Number(message.offset);
    for (let next = aborted[nextAborted]; next !== undefined && next.firstOffset <= offset; next = aborted[++nextAborted]) {
      aborting.add(next.producerId);
    }
    const context = message.batchContext;
    if (message.isControlRecord === true) {
      if (context !== undefined && message.key?.readInt16BE(2) === ABORT) aborting.delete(context.producerId);
    } else if (offset >= from && !(context?.inTransaction === true && aborting.has(context.producerId))) {
      messages.push(message);
    }
  }
  return messages;
}

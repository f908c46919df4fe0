/**
 * Turns the fetched bytes of one partition into pieces of the records that a read_committed
 * consumer may see. Reports unreadable records by their offsets and continues after them.
 */
import { MalformedError, VarintReader } from '../../../packages/client/src/base/varint.ts';
import type { RecordPiece, ReserveMemory, UnreadableRecords } from '../../core/ports/kafka.ts';
import { BatchRecords, PieceBuilder } from './batch-records.ts';
import {
  type AbortedTransaction,
  type BatchHeader,
  type FetchedBytes,
  isIntact,
  MISPLACED,
  placeBatches,
  RECORDS_AT,
  type ReadLimits,
} from './batch-walk.ts';
import { CODECS } from './unpack.ts';

// Visibility of batches for a read_committed consumer, decided by the batch headers.

/** Type of an abort marker in the key of a control record. A commit marker has type 1. */
const ABORT = 0;

class CommittedFilter {
  /** Sorted by first offset. Brokers guarantee no order, and transactions of several producers interleave. */
  readonly #aborted: readonly { readonly producerId: bigint; readonly firstOffset: number }[];
  #next = 0;
  /** Producers whose current transaction ends in an abort. */
  readonly #aborting = new Set<bigint>();

  constructor(aborted: readonly AbortedTransaction[]) {
    this.#aborted = aborted
      .map(({ producerId, firstOffset }) => ({
        producerId: BigInt(producerId),
        firstOffset: Number(firstOffset),
      }))
      .sort((a, b) => a.firstOffset - b.firstOffset);
  }

  /** Returns true if consumers may see the batch. Must be called for each batch in log order. */
  isVisible(bytes: Buffer, batch: BatchHeader): boolean {
    for (
      let aborted = this.#aborted[this.#next];
      aborted !== undefined && aborted.firstOffset <= batch.lastOffset;
      aborted = this.#aborted[++this.#next]
    ) {
      this.#aborting.add(aborted.producerId);
    }
    if (batch.control) {
      if (isAbort(bytes.subarray(batch.start + RECORDS_AT, batch.end)))
        this.#aborting.delete(batch.producerId);
      return false;
    }
    return !(batch.transactional && this.#aborting.has(batch.producerId));
  }
}

/** Returns true if the only record of a control batch is an abort marker. Control batches are never compressed. */
function isAbort(records: Buffer): boolean {
  try {
    const reader = new VarintReader();
    reader.reset(records, 0, records.length);
    reader.varint();
    reader.skip(1);
    reader.varlong();
    reader.varint();
    return reader.view()?.readInt16BE(2) === ABORT;
  } catch {
    return false;
  }
}

/**
 * Yields the pieces of a response, and nothing if it contains no complete batch. The last piece has
 * the response's `nextOffset`.
 * @throws UnusableOffset if the high watermark exceeds the safe integers; errors of `reserve`
 */
export async function* readPieces(
  fetched: FetchedBytes,
  limits: ReadLimits,
  reserve?: ReserveMemory,
): AsyncGenerator<RecordPiece, void, void> {
  const { bytes, partition } = fetched;
  const filter = new CommittedFilter(fetched.aborted);
  const piece = new PieceBuilder(limits);
  let position = fetched.fetchOffset;
  let covered = position;
  const take = (unreadable?: UnreadableRecords) => {
    covered = position;
    return piece.take(position, unreadable);
  };
  let pieces = 0;
  await nextPieceTurn();
  for (const batch of placeBatches(fetched)) {
    const { header, from, to } = batch;
    const intact = batch.intact ?? isIntact(bytes, header);
    let isOver = (intact && !filter.isVisible(bytes, header)) || from === to;
    using records = new BatchRecords(bytes, batch, partition, limits);
    while (!isOver) {
      let stop: UnreadableRecords | number | undefined;
      try {
        if (!intact) throw new MalformedError(damage(header));
        stop = await records.fill(piece);
        position = records.position;
        isOver = stop === undefined && records.isOver;
      } catch (error) {
        // A damaged batch does not affect the others.
        if (records.position < to)
          stop = unreadableBatch(header, records.position, to, messageOf(error));
        position = to;
        isOver = true;
      }
      if (typeof stop === 'number') await reserve?.(stop);
      else if (stop !== undefined || !isOver) {
        yield take(stop);
        // A long response must not block the event loop.
        await nextPieceTurn(++pieces % PIECES_IN_A_ROW !== 0);
      }
    }
    position = to;
  }
  if (position > covered || !piece.empty) yield take();
}

const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);

function damage({ magic }: BatchHeader): string {
  if (magic === MISPLACED) return 'its offset is impossible';
  if (magic === 2) return 'its CRC-32C is wrong';
  if (magic < 0) return 'its length is impossible';
  return magic > 2
    ? 'its message format is not supported'
    : 'its message format is older than Kafka 0.11: rewrite the topic with a current producer';
}

function unreadableBatch(
  header: BatchHeader,
  from: number,
  to: number,
  why: string,
): UnreadableRecords {
  const codec = CODECS[header.codec] ?? `codec ${header.codec}`;
  const size = header.end - header.start;
  const message = `the record batch at offset ${Math.max(header.baseOffset, from)} (format ${header.magic}, ${codec}, ${size} bytes) cannot be read: ${why}`;
  return {
    from,
    to,
    timestampMs: header.maxTimestamp,
    poison: { reason: 'unreadable_batch', message },
  };
}

/**
 * Number of pieces of a response that are read in a row. With fewer, the batches of many shards and
 * content types would reach their maximum age while still small.
 */
const PIECES_IN_A_ROW = 16;

/**
 * Queue of readers. The process reads one piece per turn of the event loop. If every reader read a
 * piece in each turn, sockets would be served late.
 */
const waiting: (() => void)[] = [];

/**
 * Resolves in a later turn of the event loop: one caller per turn, in call order.
 * @param goesOn true to go ahead of the other callers
 */
function nextPieceTurn(goesOn = false): Promise<void> {
  if (waiting.length === 0) setImmediate(letOneGo);
  return new Promise((resolve) => {
    if (goesOn) waiting.unshift(resolve);
    else waiting.push(resolve);
  });
}

function letOneGo(): void {
  waiting.shift()?.();
  if (waiting.length > 0) setImmediate(letOneGo);
}

/** Runs the record reader to the end of the bytes. */
import type {
  RecordPiece,
  ReserveMemory,
  UnreadableRecords,
} from '../../../src/core/ports/kafka.ts';
import type { SourceRecord } from '../../../src/core/record.ts';
import {
  type FetchedBytes,
  lastBatch,
  type ReadLimits,
  readPieces,
} from '../../../src/kafka/records/index.ts';
import { partsOf } from './record-parts.ts';

export const LIMITS: ReadLimits = {
  maxRecordBytes: 1024 * 1024,
  maxHeaders: 1_000,
  maxBatchUnpackedBytes: 1024 ** 3,
};

export interface Read {
  readonly pieces: RecordPiece[];
  readonly records: SourceRecord[];
  readonly unreadable: UnreadableRecords[];
  readonly offsets: number[];
  /** [from, to, reason] of each range. */
  readonly ranges: [number, number, string][];
  readonly nextOffset: number | undefined;
}

/** Default end of the log. */
export const END = 2 ** 40;

export async function readAll(
  bytes: Buffer | readonly Buffer[],
  given: Partial<FetchedBytes> & { limits?: Partial<ReadLimits>; reserve?: ReserveMemory } = {},
): Promise<Read> {
  const { limits, reserve, ...fetched } = given;
  const whole = Buffer.isBuffer(bytes) ? bytes : Buffer.concat(bytes);
  const pieces: RecordPiece[] = [];
  const response = {
    partition: 3,
    fetchOffset: 0,
    endOffset: END,
    aborted: [],
    ...fetched,
    bytes: whole,
  };
  for await (const piece of readPieces(response, { ...LIMITS, ...limits }, reserve))
    pieces.push(piece);
  const records = pieces.flatMap((piece) => piece.records.map(partsOf));
  const unreadable = pieces.flatMap((piece) => piece.unreadable ?? []);
  return {
    pieces,
    records,
    unreadable,
    offsets: records.map(({ offset }) => offset),
    ranges: unreadable.map(({ from, to, poison }) => [from, to, poison.reason]),
    nextOffset: pieces.at(-1)?.nextOffset,
  };
}

/** Returns the next offset to read: one past the last complete batch, or the fetch offset if there is none. */
export const nextOffset = (fetched: Parameters<typeof lastBatch>[0]): number =>
  lastBatch(fetched)?.to ?? fetched.fetchOffset;

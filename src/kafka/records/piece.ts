/** What the record reader takes and gives. */

/** Name and value; the same name may come several times. */
export type Header = readonly [name: string, value: Buffer | null];

export interface ReadRecord {
  readonly partition: number;
  readonly offset: number;
  /** Milliseconds since the epoch: any int64, rounded to a double. */
  readonly timestampMs: number;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: readonly Header[];
}

export type UnreadableReason = 'unreadable_batch' | 'too_large' | 'too_many_headers';

/** Offsets whose records cannot be read: a fact about the batch, or the one record, that they stand in. */
export interface UnreadableRecords {
  /** First offset. */
  readonly from: number;
  /** One past the last. */
  readonly to: number;
  readonly timestampMs: number;
  readonly poison: { readonly reason: UnreadableReason; readonly message: string };
}

/** A stretch of the log that is decoded at once: some records, then perhaps offsets that cannot be read. Valid until the next piece is asked for. */
export interface RecordPiece {
  readonly records: readonly ReadRecord[];
  readonly unreadable: UnreadableRecords | undefined;
  /** One past the last offset it covers, gaps included. */
  readonly nextOffset: number;
}

/** Waits for memory before a single record larger than a piece is materialised; the release is called when the next piece is asked for. */
export type AdmitLargeRecord = (bytes: number) => Promise<() => void>;

export interface AbortedTransaction {
  readonly producerId: string;
  readonly firstOffset: string;
}

/** One partition of a fetch response. */
export interface FetchedBytes {
  readonly partition: number;
  readonly fetchOffset: number;
  /** High watermark. */
  readonly endOffset: number;
  readonly bytes: Buffer;
  readonly aborted: readonly AbortedTransaction[];
}

export interface ReadLimits {
  /** A larger record is skipped and reported as unreadable. */
  readonly maxRecordBytes: number;
  readonly maxHeaders: number;
  /** Decompressed bytes of one record batch. */
  readonly maxBatchUnpackedBytes: number;
  /** Size of a piece. Default: 256 KiB. */
  readonly pieceBytes?: number;
}

/** Input of the record reader. */

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
  /** The checksum of the last complete batch is right; undefined before it was verified. */
  readonly lastIntact?: boolean | undefined;
}

export interface ReadLimits {
  /** A larger record is skipped and reported as unreadable. */
  readonly maxRecordBytes: number;
  readonly maxHeaders: number;
  /** Decompressed bytes of one record batch. */
  readonly maxBatchUnpackedBytes: number;
  /** Size of a piece. Default: 64 KiB. */
  readonly pieceBytes?: number;
}

/** Sink for the items of one upload, which keeps only the encoded row of each item. */
import type { ContentItem } from '../record.ts';

/** A body ready to be uploaded. */
export interface EncodedBody {
  readonly body: Buffer;
  readonly rows: number;
  /** Memory that the body occupies, bytes. A buffer of the pool may be larger than the body. */
  readonly heldBytes: number;
  /** Returns the memory to the pool. Nothing may read the body any more. Idempotent. */
  release(): void;
  /** Like `release`, but leaves the body to the garbage collector, since it may still be read. */
  drop(): void;
}

export interface RowSink {
  /** Memory of the sink, bytes: buffers of the pool and data about columns. */
  readonly heldBytes: number;
  /** Key that seals the rows of this upload, base64url; undefined for kinds without seals. */
  readonly rowKey?: string | undefined;
  /** Writes the row of an item. Its key and headers are views that must not be kept. @throws if this item fails; earlier rows are unchanged */
  add(item: ContentItem): void;
  /**
   * Assembles the body and returns the rows' buffers to the pool. Yields to the event loop
   * regularly, since a batch may have 100,000 rows. Must be called once; only `release` may follow.
   * Never throws because of one item.
   */
  finish(): Promise<EncodedBody>;
  /** Returns the memory to the pool without a body. Idempotent; no effect after `finish`. */
  release(): void;
}

/** Row sink of a kind without uploads, which only counts the rows. */
export class NoRows implements RowSink {
  readonly heldBytes = 0;
  #rows = 0;

  add(): void {
    this.#rows++;
  }

  async finish(): Promise<EncodedBody> {
    return { body: Buffer.alloc(0), rows: this.#rows, heldBytes: 0, release() {}, drop() {} };
  }

  release(): void {}
}

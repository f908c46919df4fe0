/** Sink for the items of one upload, which keeps only the encoded row of each item. */
import type { ContentItem } from '../record.ts';

/** A body ready to be uploaded. */
export interface EncodedBody {
  readonly body: Buffer;
  readonly rows: number;
  /** Memory of the body in bytes. A pool's buffer may be larger than the body. */
  readonly heldBytes: number;
  /** Returns the memory to the pool. Nothing may read the body afterwards. Idempotent. */
  release(): void;
  /** Leaves the memory to the garbage collector, because the body may still be read. */
  drop(): void;
}

export interface RowSink {
  /** Memory of the sink in bytes: buffers of the pool, and data about columns. */
  readonly heldBytes: number;
  /** Key that seals the rows of this upload, in base64url. undefined for kinds without seals. */
  readonly rowKey?: string | undefined;
  /**
   * Writes an item's row. Its key and headers are views and must not be kept. @throws if it fails;
   * earlier rows stay
   */
  add(item: ContentItem): void;
  /**
   * Assembles the body and returns the rows' buffers to the pool. Yields to the event loop
   * regularly, because a batch may have 100,000 rows. Must be called once, and only `release` may
   * follow. An item that was added never makes it throw.
   */
  finish(): Promise<EncodedBody>;
  /** Returns the memory to the pool without making a body. Idempotent. No effect after `finish`. */
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

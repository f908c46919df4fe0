/** Sink for the items of one upload: of each item it keeps only the bytes of its row. */
import type { ContentItem } from '../record.ts';

/** A body ready to be uploaded. */
export interface EncodedBody {
  readonly body: Buffer;
  readonly rows: number;
  /** Memory that the body occupies, bytes. A buffer of the pool may be larger than the body. */
  readonly heldBytes: number;
  /** Gives the body's memory back to the pool: nothing may read the body any more. Repeatable. */
  release(): void;
  /** Instead of `release`, where something may still read the body: its memory is left to the collector. Repeatable. */
  drop(): void;
}

export interface RowSink {
  /** Memory that the sink holds, bytes: buffers of the pool, and what it remembers of columns. */
  readonly heldBytes: number;
  /** Key that seals the rows of this upload, base64url; undefined for kinds without. */
  readonly rowKey?: string | undefined;
  /** Writes the row of an item, whose key and headers are views of its record and must not be kept. @throws when it fails on this item; the rows before it stay as they are */
  add(item: ContentItem): void;
  /**
   * Puts the body together; the rows' buffers go back to the pool. Gives the event loop back now and then: a batch may have 100,000 rows.
   * To be called once, with nothing but `release` after it. @throws never because of one item
   */
  finish(): Promise<EncodedBody>;
  /** Gives the memory back without a body. Repeatable; after `finish` there is nothing to give. */
  release(): void;
}

/** Row sink of a kind without uploads: it only counts the rows. */
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

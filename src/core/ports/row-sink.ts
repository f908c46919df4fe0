/** Where a kind puts the items of one upload: of an item only the bytes of its row are kept. */
import type { ContentItem } from '../record.ts';
import type { EncodedBody } from './pipeline-kind.ts';

export interface RowSink {
  /** Memory that the sink holds, bytes: buffers of the pool, and what it remembers of columns. */
  readonly heldBytes: number;
  /** Writes the row of an item. @throws when it fails on this item; the rows before it stay as they are */
  add(item: ContentItem): void;
  /**
   * Puts the body together; the rows' buffers go back to the pool. Gives the event loop back now and then: a batch may have 100,000 rows.
   * To be called once, with nothing but `release` after it. @throws never because of one item
   */
  finish(): Promise<EncodedBody>;
  /** Gives the memory back without a body. Repeatable; after `finish` there is nothing to give. */
  release(): void;
}

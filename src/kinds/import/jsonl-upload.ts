/** Upload of an import: JSON Lines, UTF-8 without a byte order mark, each line ends in LF. */
import type { BufferPool } from '../../core/bytes/buffer-pool.ts';
import type { EncodedBody, RowSink } from '../../core/bytes/row-sink.ts';
import { Slabs } from '../../core/bytes/slabs.ts';
import type { ContentItem } from '../../core/record.ts';

/** Shorter lines get the room of the worst case; the bytes of others are counted. */
const SHORT_CHARACTERS = 2048;
const LINE_END = 0x0a;

/** Concatenates the lines: they are JSON, which has no line end outside its strings. */
export class JsonLines implements RowSink {
  readonly #lines: Slabs;
  #rows = 0;

  constructor(pool: BufferPool) {
    this.#lines = new Slabs(pool);
  }

  get heldBytes(): number {
    return this.#lines.heldBytes;
  }

  add({ content }: ContentItem): void {
    const lines = this.#lines;
    const { length } = content;
    lines.room(1 + (length > SHORT_CHARACTERS ? Buffer.byteLength(content) : 3 * length));
    lines.at += lines.buffer.write(content, lines.at);
    lines.buffer[lines.at++] = LINE_END;
    lines.endRow();
    this.#rows++;
  }

  async finish(): Promise<EncodedBody> {
    return { ...this.#lines.body(), rows: this.#rows };
  }

  release(): void {
    this.#lines.release();
  }
}

/** The body of an import (service-interface.md 2.5): JSON Lines, UTF-8 without a byte order mark, each line ends in LF. */
import type { BufferPool } from '../../core/bytes/buffer-pool.ts';
import { Slabs } from '../../core/bytes/slabs.ts';
import type { EncodedBody, RowSink } from '../../core/ports/row-sink.ts';
import type { ContentItem } from '../../core/record.ts';

/** Characters up to which the most room is asked for that they may take, instead of counting their bytes. */
const SHORT_CHARACTERS = 2048;
const LINE_END = 0x0a;

/** Puts the lines one behind the other: they are JSON already, and JSON has no line end outside its strings. */
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
    lines.room(
      1 + (content.length > SHORT_CHARACTERS ? Buffer.byteLength(content) : 3 * content.length),
    );
    const end = lines.at + lines.buffer.write(content, lines.at, 'utf8');
    lines.buffer[end] = LINE_END;
    lines.at = end + 1;
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

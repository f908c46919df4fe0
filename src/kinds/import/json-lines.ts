/** Upload of an import: JSON Lines in UTF-8 without a byte order mark. Each line ends in LF. */
import { CompactObject } from '../../../packages/client/src/base/json/compact-object.ts';
import type { BufferPool } from '../../core/bytes/buffer-pool.ts';
import type { EncodedBody, RowSink } from '../../core/bytes/row-sink.ts';
import { Slabs } from '../../core/bytes/slabs.ts';
import type { ContentItem } from '../../core/record.ts';

const BEFORE_TYPE = Buffer.from('{"type":');
const BEFORE_DATA = Buffer.from(',"data":');
const END = Buffer.from('}\n');
/** Bytes of a line in addition to its type and data. */
export const LINE_BYTES: number = BEFORE_TYPE.length + BEFORE_DATA.length + END.length - 1;

/** Writes a line for each item, as compact JSON without line ends. */
export class JsonLines implements RowSink {
  readonly #lines: Slabs;
  readonly #data = new CompactObject();
  #rows = 0;

  constructor(pool: BufferPool) {
    this.#lines = new Slabs(pool);
  }

  get heldBytes(): number {
    return this.#lines.heldBytes;
  }

  add({ content: type, metadata: data }: ContentItem): void {
    const lines = this.#lines;
    lines.room(LINE_BYTES + 1 + type.end - type.start + data.end - data.start);
    const { buffer } = lines;
    let { at } = lines;
    at += BEFORE_TYPE.copy(buffer, at);
    at += type.bytes.copy(buffer, at, type.start, type.end);
    at += BEFORE_DATA.copy(buffer, at);
    at = this.#data.copy(data.bytes, data.start, buffer, at);
    at += END.copy(buffer, at);
    lines.at = at;
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

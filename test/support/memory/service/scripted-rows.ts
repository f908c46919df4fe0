/** Upload of the scripted kind: JSON in buffers of the pool, so that a world can check that each buffer is returned. */
import { textOfString } from '../../../../packages/client/src/base/json/json-text.ts';
import type { BufferPool } from '../../../../src/core/bytes/buffer-pool.ts';
import type { EncodedBody, RowSink } from '../../../../src/core/bytes/row-sink.ts';
import { pooledBody, Slabs } from '../../../../src/core/bytes/slabs.ts';
import type { ContentItem } from '../../../../src/core/record.ts';
import type { ServiceRow } from './review-service.ts';

const ROW_BYTES = 768;

export class ScriptedRows implements RowSink {
  readonly #pool: BufferPool;
  readonly #slabs: Slabs;
  readonly #rows: ServiceRow[] = [];
  #heldBytes = 0;

  constructor(pool: BufferPool) {
    this.#pool = pool;
    this.#slabs = new Slabs(pool);
    this.#slabs.room(1);
  }

  /** Bytes of the rows. Their slab would exceed the budgets of small worlds, which are a few thousand bytes. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  add({ partition, offset, content, replay, bytes }: ContentItem): void {
    this.#rows.push({
      partition,
      offset,
      content: textOfString(content),
      status: 'success',
      ...(replay > 0 ? { replay } : {}),
    });
    this.#heldBytes += bytes + ROW_BYTES;
  }

  async finish(): Promise<EncodedBody> {
    const text = JSON.stringify(this.#rows);
    const length = Buffer.byteLength(text);
    const pooled = pooledBody(this.#pool, length);
    pooled.body.write(text);
    this.release();
    return { ...pooled, heldBytes: length, rows: this.#rows.length };
  }

  release(): void {
    this.#slabs.release();
    this.#heldBytes = 0;
  }
}

/** Uploads without pooled buffers. */
import type { EncodedBody, RowSink } from './row-sink.ts';

/** Returns a body outside the pool. */
export function unpooledBody(body: Buffer, rows: number): EncodedBody {
  return { body, rows, heldBytes: body.length, release() {}, drop() {} };
}

/** Row sink of a kind without uploads: it only counts the rows. */
export class NoRows implements RowSink {
  readonly heldBytes = 0;
  #rows = 0;

  add(): void {
    this.#rows++;
  }

  async finish(): Promise<EncodedBody> {
    return unpooledBody(Buffer.alloc(0), this.#rows);
  }

  release(): void {}
}

/** Row sink of a kind without uploads: it only counts the rows. */
import type { EncodedBody, RowSink } from './row-sink.ts';

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

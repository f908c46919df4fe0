/** Memory budget whose pool checks ownership: returned buffers are overwritten, and a second return throws. */
import { BufferPool } from '../../../src/core/bytes/buffer-pool.ts';
import { MemoryBudget } from '../../../src/pipeline/limits/memory-budget.ts';

class StrictPool extends BufferPool {
  readonly #lent = new Set<ArrayBuffer>();

  override take(bytes: number): Buffer<ArrayBuffer> {
    const buffer = super.take(bytes);
    this.#lent.add(buffer.buffer);
    return buffer.fill(0xdb);
  }

  override give(buffer: Buffer<ArrayBuffer>): void {
    this.#end(buffer);
    super.give(buffer.fill(0xa5));
  }

  override drop(buffer: Buffer<ArrayBuffer>): void {
    this.#end(buffer);
    super.drop(buffer);
  }

  #end({ buffer, length }: Buffer<ArrayBuffer>): void {
    if (length !== buffer.byteLength) throw new Error('only a part of a buffer was returned');
    if (!this.#lent.delete(buffer)) throw new Error('a buffer was returned that was not lent');
  }
}

export class StrictBudget extends MemoryBudget {
  override readonly pool = new StrictPool(this.totalBytes / 8);
}

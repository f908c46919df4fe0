/** Memory budget whose pool tells who breaks the rules of ownership: what was given back reads as noise, and is given back once. */
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
    if (length !== buffer.byteLength) throw new Error('a part of a buffer was given back');
    if (!this.#lent.delete(buffer)) throw new Error('a buffer was given back that had no owner');
  }
}

export class StrictBudget extends MemoryBudget {
  override readonly pool = new StrictPool(this.totalBytes / 8);
}

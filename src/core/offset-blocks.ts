/**
 * Ascending blocks of 256 offsets. A partly filled block has a bitmap. Consecutive full blocks
 * share one entry, however many they are.
 */

export const BLOCK = 256;
const BLOCK_BYTES = BLOCK / 8;

export const blockOf = (offset: number): number => Math.floor(offset / BLOCK);
/** Index of an offset's byte in the bitmap of its block. */
export const byteOf = (offset: number): number => (offset & (BLOCK - 1)) >> 3;

export class OffsetBlocks {
  /** First block and number of blocks of each entry. If an entry has several blocks, they are full. */
  #blocks: Float64Array<ArrayBuffer> = new Float64Array(0);
  /** Bitmap of the first block of each entry. */
  #bits: Uint8Array<ArrayBuffer> = new Uint8Array(0);
  #entries = 0;
  /** Index of the entry that the last search found. */
  #near = 0;
  #size = 0;

  get entries(): number {
    return this.#entries;
  }

  /** Memory of all blocks, bytes. */
  get heldBytes(): number {
    return this.#blocks.byteLength + this.#bits.byteLength;
  }

  /** Number of offsets in all blocks. */
  get size(): number {
    return this.#size;
  }

  /** Returns the index of the first entry that ends after a block. */
  find(block: number): number {
    // Offsets mostly arrive in ascending order, so the last result or its successor is checked first.
    if (this.#isFirstBehind(this.#near, block)) return this.#near;
    if (this.#isFirstBehind(this.#near + 1, block)) return ++this.#near;
    let [low, high] = [0, this.#entries];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.end(middle) > block) high = middle;
      else low = middle + 1;
    }
    this.#near = low;
    return low;
  }

  #isFirstBehind(at: number, block: number): boolean {
    if (at > this.#entries) return false;
    return (
      (at === this.#entries || this.end(at) > block) && (at === 0 || this.end(at - 1) <= block)
    );
  }

  /** Returns the index of an entry for this block alone. Creates it, or splits it off a longer entry, if needed. */
  alone(block: number): number {
    const at = this.find(block);
    if (at === this.#entries || this.first(at) > block) {
      this.#insert(at, block, 1, 0);
      return at;
    }
    const before = block - this.first(at);
    const behind = this.end(at) - block - 1;
    this.#blocks[at * 2] = block;
    this.#blocks[at * 2 + 1] = 1;
    if (behind > 0) this.#insert(at + 1, block + 1, behind, 0xff);
    if (before === 0) return at;
    this.#insert(at, block - before, before, 0xff);
    return at + 1;
  }

  /** Replaces one byte in the bitmap of an entry that has a single block. */
  put(at: number, byte: number, bits: number): void {
    const index = at * BLOCK_BYTES + byte;
    this.#size += popcount(bits) - popcount(this.#bits[index] as number);
    this.#bits[index] = bits;
    if (bits === 0xff && this.isFull(at)) this.#join(at);
  }

  /** Joins a full entry with its full neighbours. */
  #join(at: number): void {
    const next = at + 1;
    if (next < this.#entries && this.end(at) === this.first(next) && this.isFull(next)) {
      this.#blocks[at * 2 + 1] = this.end(next) - this.first(at);
      this.remove(next, next + 1);
    }
    if (at > 0 && this.end(at - 1) === this.first(at) && this.isFull(at - 1)) this.#join(at - 1);
  }

  /** Fills the blocks [from, to). One entry replaces all entries that overlap them. */
  fill(from: number, to: number): void {
    let [low, high] = [from, to];
    const at = this.find(low);
    let end = at;
    for (; end < this.#entries && this.first(end) < high; end++) {
      this.#size -= this.sizeOf(end);
      low = Math.min(low, this.first(end));
      high = Math.max(high, this.end(end));
    }
    this.remove(at, end);
    this.#insert(at, low, high - low, 0xff);
    this.#size += (high - low) * BLOCK;
    this.#join(at);
  }

  /** Removes all blocks below `block`. */
  dropBelow(block: number): void {
    const at = this.find(block);
    for (let i = 0; i < at; i++) this.#size -= this.sizeOf(i);
    this.remove(0, at);
    const below = this.#entries === 0 ? 0 : block - this.first(0);
    if (below <= 0) return;
    this.#size -= below * BLOCK;
    this.#blocks[0] = block;
    this.#blocks[1] = (this.#blocks[1] as number) - below;
  }

  clone(): OffsetBlocks {
    const copy = new OffsetBlocks();
    copy.#blocks = this.#blocks.slice(0, this.#entries * 2);
    copy.#bits = this.#bits.slice(0, this.#entries * BLOCK_BYTES);
    copy.#entries = this.#entries;
    copy.#size = this.#size;
    return copy;
  }

  /** Returns the bitmap of the `8 * bytes` offsets that start at `8 * low`. */
  bitmap(low: number, bytes: number): Uint8Array {
    const out = new Uint8Array(bytes);
    for (let at = 0; at < this.#entries; at++) {
      for (let block = this.first(at); block < this.end(at); block++) {
        for (let byte = 0; byte < BLOCK_BYTES; byte++)
          out[block * BLOCK_BYTES + byte - low] = this.#bits[at * BLOCK_BYTES + byte] as number;
      }
    }
    return out;
  }

  #insert(at: number, first: number, blocks: number, fill: number): void {
    if (this.#bits.length === this.#entries * BLOCK_BYTES) {
      const capacity = Math.max(2, this.#entries * 2);
      const [grownBlocks, grownBits] = [
        new Float64Array(capacity * 2),
        new Uint8Array(capacity * BLOCK_BYTES),
      ];
      grownBlocks.set(this.#blocks);
      grownBits.set(this.#bits);
      this.#blocks = grownBlocks;
      this.#bits = grownBits;
    }
    this.#move(at, at + 1);
    this.#blocks[at * 2] = first;
    this.#blocks[at * 2 + 1] = blocks;
    this.#bits.fill(fill, at * BLOCK_BYTES, (at + 1) * BLOCK_BYTES);
  }

  /** Removes the entries [from, to). */
  remove(from: number, to: number): void {
    if (to > from) this.#move(to, from);
  }

  /** Moves the entries from `from` on, so that they begin at `to`. */
  #move(from: number, to: number): void {
    this.#blocks.copyWithin(to * 2, from * 2, this.#entries * 2);
    this.#bits.copyWithin(to * BLOCK_BYTES, from * BLOCK_BYTES, this.#entries * BLOCK_BYTES);
    this.#entries += to - from;
  }

  /** First block of an entry. */
  first(at: number): number {
    return this.#blocks[at * 2] as number;
  }

  /** One past the last block of an entry. */
  end(at: number): number {
    return (this.#blocks[at * 2] as number) + (this.#blocks[at * 2 + 1] as number);
  }

  /** Returns the byte of an entry's bitmap that contains `offset`. */
  byte(at: number, offset: number): number {
    return this.#bits[at * BLOCK_BYTES + byteOf(offset)] as number;
  }

  holds(at: number, offset: number): boolean {
    return ((this.byte(at, offset) >> (offset & 7)) & 1) === 1;
  }

  /** Number of offsets in an entry. */
  sizeOf(at: number): number {
    const blocks = this.#blocks[at * 2 + 1] as number;
    if (blocks > 1) return blocks * BLOCK;
    let size = 0;
    for (let i = at * BLOCK_BYTES; i < (at + 1) * BLOCK_BYTES; i++)
      size += popcount(this.#bits[i] as number);
    return size;
  }

  isFull(at: number): boolean {
    return this.sizeOf(at) >= BLOCK;
  }
}

function popcount(byte: number): number {
  let bits = byte - ((byte >> 1) & 0x55);
  bits = (bits & 0x33) + ((bits >> 2) & 0x33);
  return (bits + (bits >> 4)) & 0x0f;
}

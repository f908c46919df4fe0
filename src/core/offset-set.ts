/**
 * A set of offsets of one partition, in blocks of 256: a bitmap for each block that holds some of its offsets, and one entry for any
 * number of full blocks in a row. So a set costs what its members cost, and the gaps between them and inside them cost nothing,
 * however long: records of a compacted log may be 2^40 offsets apart.
 *
 * Encoded (base64 of bytes) as a bitmap or as runs (delta varints of where membership changes), whichever is smaller.
 */
import { putVarint, takeVarint } from './varint.ts';

const BITMAP = 0;
const RUNS = 1;

const BLOCK = 256;
const BLOCK_BYTES = BLOCK / 8;

/** A stretch of offsets: the first, and one past the last. */
export type OffsetRange = readonly [from: number, to: number];

export class OffsetSet {
  /** For each entry, ascending: the number of its first block, and how many blocks it stands for. Several are all full. */
  #blocks: Float64Array<ArrayBuffer> = new Float64Array(0);
  /** For each entry the bits of its first block. */
  #bits: Uint8Array<ArrayBuffer> = new Uint8Array(0);
  #entries = 0;
  /** Where the last search ended. */
  #near = 0;
  #size = 0;

  static of(offsets: Iterable<number>): OffsetSet {
    const set = new OffsetSet();
    for (const offset of offsets) set.add(offset);
    return set;
  }

  get size(): number {
    return this.#size;
  }

  has(offset: number): boolean {
    const at = this.#find(blockOf(offset));
    return at < this.#entries && this.#first(at) <= blockOf(offset) && this.#holds(at, offset);
  }

  /** @returns whether it was new. @throws RangeError when it is no offset */
  add(offset: number): boolean {
    assertOffset(offset);
    if (this.has(offset)) return false;
    const at = this.#alone(blockOf(offset));
    this.#put(at, byteOf(offset), this.#byte(at, offset) | (1 << (offset & 7)));
    return true;
  }

  /** Adds every offset from `from` up to, not including, `to`. @throws RangeError when they are no offsets */
  addRange(from: number, to: number): void {
    if (to <= from) return;
    assertOffset(from);
    assertOffset(to);
    let low = Math.ceil(from / BLOCK);
    let high = blockOf(to);
    for (let offset = from; offset < Math.min(to, low * BLOCK); offset++) this.add(offset);
    if (low <= high) for (let offset = high * BLOCK; offset < to; offset++) this.add(offset);
    if (low >= high) return;
    // Whole blocks: one entry in place of all that lie between, and of the full ones that reach over either end.
    const at = this.#find(low);
    let end = at;
    for (; end < this.#entries && this.#first(end) < high; end++) {
      this.#size -= this.#sizeOf(end);
      low = Math.min(low, this.#first(end));
      high = Math.max(high, this.#end(end));
    }
    this.#remove(at, end);
    this.#insert(at, low, high - low, 0xff);
    this.#size += (high - low) * BLOCK;
    this.#join(at);
  }

  /** @returns whether it was there. */
  delete(offset: number): boolean {
    if (!this.has(offset)) return false;
    const at = this.#alone(blockOf(offset));
    this.#put(at, byteOf(offset), this.#byte(at, offset) & ~(1 << (offset & 7)));
    if (this.#byte(at, offset) === 0 && this.#sizeOf(at) === 0) this.#remove(at, at + 1);
    return true;
  }

  /** Forgets every offset below `offset`. */
  dropBelow(offset: number): void {
    const block = blockOf(offset);
    const at = this.#find(block);
    for (let i = 0; i < at; i++) this.#size -= this.#sizeOf(i);
    this.#remove(0, at);
    const below = this.#entries === 0 ? 0 : block - this.#first(0);
    if (below > 0) {
      this.#size -= below * BLOCK;
      this.#blocks[0] = block;
      this.#blocks[1] = (this.#blocks[1] as number) - below;
    }
    for (let low = block * BLOCK; low < offset; low++) this.delete(low);
  }

  /** The first offset ≥ `from` that is not in the set. */
  firstMissing(from: number): number {
    let offset = from;
    for (let at = this.#find(blockOf(from)); at < this.#entries && this.#first(at) <= blockOf(offset); at++) {
      const end = this.#end(at) * BLOCK;
      if (this.#isFull(at)) offset = end;
      else while (offset < end && this.#holds(at, offset)) offset++;
      if (offset < end) break;
    }
    return offset;
  }

  /** The first member ≥ `from`. */
  firstFrom(from: number): number | undefined {
    for (let at = this.#find(blockOf(from)); at < this.#entries; at++) {
      const end = this.#end(at) * BLOCK;
      for (let offset = Math.max(from, this.#first(at) * BLOCK); offset < end; ) {
        if (this.#holds(at, offset)) return offset;
        offset += this.#byte(at, offset) === 0 ? 8 - (offset & 7) : 1;
      }
    }
    return undefined;
  }

  min(): number | undefined {
    return this.firstFrom(0);
  }

  max(): number | undefined {
    const last = this.#entries - 1;
    if (last < 0) return undefined;
    let offset = this.#end(last) * BLOCK - 1;
    while (!this.#holds(last, offset)) offset--;
    return offset;
  }

  /** The stretches of members, ascending. */
  *ranges(): IterableIterator<OffsetRange> {
    for (let from = this.min(); from !== undefined; ) {
      const to = this.firstMissing(from);
      yield [from, to];
      from = this.firstFrom(to);
    }
  }

  /** The stretches of [from, to) that are not in the set, ascending. */
  *gaps(from: number, to: number): IterableIterator<OffsetRange> {
    for (let missing = this.firstMissing(from); missing < to; ) {
      const end = Math.min(this.firstFrom(missing) ?? to, to);
      yield [missing, end];
      missing = this.firstMissing(end);
    }
  }

  *[Symbol.iterator](): IterableIterator<number> {
    for (const [from, to] of this.ranges()) for (let offset = from; offset < to; offset++) yield offset;
  }

  clone(): OffsetSet {
    const copy = new OffsetSet();
    copy.#blocks = this.#blocks.slice(0, this.#entries * 2);
    copy.#bits = this.#bits.slice(0, this.#entries * BLOCK_BYTES);
    copy.#entries = this.#entries;
    copy.#size = this.#size;
    return copy;
  }

  encode(): string {
    const min = this.min();
    if (min === undefined) return '';
    const low = Math.floor(min / 8);
    const head: number[] = [BITMAP];
    putVarint(head, low * 8);
    const bytes = Math.floor((this.max() as number) / 8) - low + 1;
    const runs = this.#encodeRuns(head.length + bytes);
    const encoded = runs === undefined ? Buffer.concat([Buffer.from(head), this.#bitmap(low, bytes)]) : Buffer.from(runs);
    return encoded.toString('base64');
  }

  /** The bits of `bytes` times 8 offsets from `low` times 8 on. */
  #bitmap(low: number, bytes: number): Uint8Array {
    const out = new Uint8Array(bytes);
    for (let at = 0; at < this.#entries; at++) {
      for (let block = this.#first(at); block < this.#end(at); block++) {
        for (let byte = 0; byte < BLOCK_BYTES; byte++)
          out[block * BLOCK_BYTES + byte - low] = this.#bits[at * BLOCK_BYTES + byte] as number;
      }
    }
    return out;
  }

  /** @returns undefined as soon as it is clear that runs are not smaller than `limit` bytes. */
  #encodeRuns(limit: number): number[] | undefined {
    const out: number[] = [RUNS];
    let end = 0;
    for (const [from, to] of this.ranges()) {
      putVarint(out, from - end);
      putVarint(out, to - from);
      if (out.length >= limit) return undefined;
      end = to;
    }
    return out;
  }

  /** @throws RangeError when the text is not an encoded set. */
  static decode(text: string): OffsetSet {
    const set = new OffsetSet();
    if (text === '') return set;
    const bytes = Buffer.from(text, 'base64');
    const cursor = { at: 1 };
    if (bytes[0] === BITMAP) {
      const base = takeVarint(bytes, cursor);
      if (base % 8 !== 0) throw new RangeError('offset set: a bitmap must start at a multiple of 8');
      assertOffset(base + (bytes.length - cursor.at) * 8);
      for (let offset = base; cursor.at < bytes.length; offset += 8) {
        const byte = bytes[cursor.at++] as number;
        if (byte !== 0) set.#put(set.#alone(blockOf(offset)), byteOf(offset), byte);
      }
      return set;
    }
    if (bytes[0] !== RUNS) throw new RangeError(`offset set: unknown encoding ${bytes[0]}`);
    let end = 0;
    while (cursor.at < bytes.length) {
      const from = end + takeVarint(bytes, cursor);
      end = from + takeVarint(bytes, cursor);
      assertOffset(end);
      set.addRange(from, end);
    }
    return set;
  }

  /** Index of the first entry that ends behind a block. */
  #find(block: number): number {
    // Offsets mostly come in ascending order.
    if (this.#isFirstBehind(this.#near, block)) return this.#near;
    if (this.#isFirstBehind(this.#near + 1, block)) return ++this.#near;
    let [low, high] = [0, this.#entries];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#end(middle) > block) high = middle;
      else low = middle + 1;
    }
    this.#near = low;
    return low;
  }

  #isFirstBehind(at: number, block: number): boolean {
    if (at > this.#entries) return false;
    return (at === this.#entries || this.#end(at) > block) && (at === 0 || this.#end(at - 1) <= block);
  }

  /** Index of the entry for this one block, which is made where there is none. */
  #alone(block: number): number {
    const at = this.#find(block);
    if (at === this.#entries || this.#first(at) > block) {
      this.#insert(at, block, 1, 0);
      return at;
    }
    const before = block - this.#first(at);
    const behind = this.#end(at) - block - 1;
    this.#blocks[at * 2] = block;
    this.#blocks[at * 2 + 1] = 1;
    if (behind > 0) this.#insert(at + 1, block + 1, behind, 0xff);
    if (before === 0) return at;
    this.#insert(at, block - before, before, 0xff);
    return at + 1;
  }

  /** Replaces 8 offsets of an entry for one block. */
  #put(at: number, byte: number, bits: number): void {
    const index = at * BLOCK_BYTES + byte;
    this.#size += popcount(bits) - popcount(this.#bits[index] as number);
    this.#bits[index] = bits;
    if (bits === 0xff && this.#isFull(at)) this.#join(at);
  }

  /** A full entry becomes one with full neighbours that it touches. */
  #join(at: number): void {
    const next = at + 1;
    if (next < this.#entries && this.#end(at) === this.#first(next) && this.#isFull(next)) {
      this.#blocks[at * 2 + 1] = this.#end(next) - this.#first(at);
      this.#remove(next, next + 1);
    }
    if (at > 0 && this.#end(at - 1) === this.#first(at) && this.#isFull(at - 1)) this.#join(at - 1);
  }

  #insert(at: number, first: number, blocks: number, fill: number): void {
    if (this.#bits.length === this.#entries * BLOCK_BYTES) {
      const capacity = Math.max(2, this.#entries * 2);
      const [grownBlocks, grownBits] = [new Float64Array(capacity * 2), new Uint8Array(capacity * BLOCK_BYTES)];
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

  #remove(from: number, to: number): void {
    if (to > from) this.#move(to, from);
  }

  /** Moves the entries from `from` on, so that they begin at `to`. */
  #move(from: number, to: number): void {
    this.#blocks.copyWithin(to * 2, from * 2, this.#entries * 2);
    this.#bits.copyWithin(to * BLOCK_BYTES, from * BLOCK_BYTES, this.#entries * BLOCK_BYTES);
    this.#entries += to - from;
  }

  #first(at: number): number {
    return this.#blocks[at * 2] as number;
  }

  /** One past the last block of an entry. */
  #end(at: number): number {
    return (this.#blocks[at * 2] as number) + (this.#blocks[at * 2 + 1] as number);
  }

  #byte(at: number, offset: number): number {
    return this.#bits[at * BLOCK_BYTES + byteOf(offset)] as number;
  }

  #holds(at: number, offset: number): boolean {
    return ((this.#byte(at, offset) >> (offset & 7)) & 1) === 1;
  }

  #sizeOf(at: number): number {
    const blocks = this.#blocks[at * 2 + 1] as number;
    if (blocks > 1) return blocks * BLOCK;
    let size = 0;
    for (let i = at * BLOCK_BYTES; i < (at + 1) * BLOCK_BYTES; i++) size += popcount(this.#bits[i] as number);
    return size;
  }

  #isFull(at: number): boolean {
    return this.#sizeOf(at) >= BLOCK;
  }
}

const blockOf = (offset: number): number => Math.floor(offset / BLOCK);
/** Of the byte that holds an offset, in its block. */
const byteOf = (offset: number): number => (offset & (BLOCK - 1)) >> 3;

/** @throws RangeError */
function assertOffset(offset: number): void {
  if (!Number.isSafeInteger(offset) || offset < 0) throw new RangeError(`not an offset: ${offset}`);
}

function popcount(byte: number): number {
  let bits = byte - ((byte >> 1) & 0x55);
  bits = (bits & 0x33) + ((bits >> 2) & 0x33);
  return (bits + (bits >> 4)) & 0x0f;
}

/**
 * Set of offsets of one partition. Its memory depends only on the members (offset-blocks.ts), not
 * on the gaps, because records of a compacted log may be 2^40 offsets apart.
 *
 * A set is encoded in base64 as a bitmap or as runs (varints of the distances between changes of
 * membership), whichever is smaller.
 */
import { readUnsigned, writeUnsigned } from '../../packages/client/src/base/varint.ts';
import { BLOCK, blockOf, byteOf, OffsetBlocks } from './offset-blocks.ts';

const BITMAP = 0;
const RUNS = 1;
/** Buffer in which an offset is encoded as a varint. */
const NUMBER = new Uint8Array(8);

/** Offsets [from, to). */
type OffsetRange = readonly [from: number, to: number];

export class OffsetSet {
  #blocks = new OffsetBlocks();

  static of(offsets: Iterable<number>): OffsetSet {
    const set = new OffsetSet();
    for (const offset of offsets) set.add(offset);
    return set;
  }

  get size(): number {
    return this.#blocks.size;
  }

  /** Memory of the set, bytes. */
  get heldBytes(): number {
    return this.#blocks.heldBytes;
  }

  has(offset: number): boolean {
    const at = this.#blocks.find(blockOf(offset));
    return (
      at < this.#blocks.entries &&
      this.#blocks.first(at) <= blockOf(offset) &&
      this.#blocks.holds(at, offset)
    );
  }

  /** Adds an offset. @returns true if it was new @throws RangeError if it is not a valid offset */
  add(offset: number): boolean {
    assertOffset(offset);
    if (this.has(offset)) return false;
    const at = this.#blocks.alone(blockOf(offset));
    this.#blocks.put(at, byteOf(offset), this.#blocks.byte(at, offset) | (1 << (offset & 7)));
    return true;
  }

  /** Adds the offsets [from, to). @throws RangeError if a bound is not a valid offset */
  addRange(from: number, to: number): void {
    if (to <= from) return;
    assertOffset(from);
    assertOffset(to);
    const low = Math.ceil(from / BLOCK);
    const high = blockOf(to);
    for (let offset = from; offset < Math.min(to, low * BLOCK); offset++) this.add(offset);
    if (low <= high) for (let offset = high * BLOCK; offset < to; offset++) this.add(offset);
    if (low < high) this.#blocks.fill(low, high);
  }

  /** Removes an offset. @returns true if it was a member */
  delete(offset: number): boolean {
    if (!this.has(offset)) return false;
    const at = this.#blocks.alone(blockOf(offset));
    this.#blocks.put(at, byteOf(offset), this.#blocks.byte(at, offset) & ~(1 << (offset & 7)));
    if (this.#blocks.byte(at, offset) === 0 && this.#blocks.sizeOf(at) === 0)
      this.#blocks.remove(at, at + 1);
    return true;
  }

  /** Removes every offset below `offset`. */
  dropBelow(offset: number): void {
    const block = blockOf(offset);
    this.#blocks.dropBelow(block);
    for (let low = block * BLOCK; low < offset; low++) this.delete(low);
  }

  /** Returns the first offset ≥ `from` that is not in the set. */
  firstMissing(from: number): number {
    const blocks = this.#blocks;
    let offset = from;
    for (
      let at = blocks.find(blockOf(from));
      at < blocks.entries && blocks.first(at) <= blockOf(offset);
      at++
    ) {
      const end = blocks.end(at) * BLOCK;
      if (blocks.isFull(at)) offset = end;
      else while (offset < end && blocks.holds(at, offset)) offset++;
      if (offset < end) break;
    }
    return offset;
  }

  /** Returns the first member ≥ `from`, or undefined if there is none. */
  firstFrom(from: number): number | undefined {
    const blocks = this.#blocks;
    for (let at = blocks.find(blockOf(from)); at < blocks.entries; at++) {
      const end = blocks.end(at) * BLOCK;
      for (let offset = Math.max(from, blocks.first(at) * BLOCK); offset < end; ) {
        if (blocks.holds(at, offset)) return offset;
        offset += blocks.byte(at, offset) === 0 ? 8 - (offset & 7) : 1;
      }
    }
    return undefined;
  }

  min(): number | undefined {
    return this.firstFrom(0);
  }

  max(): number | undefined {
    const last = this.#blocks.entries - 1;
    if (last < 0) return undefined;
    let offset = this.#blocks.end(last) * BLOCK - 1;
    while (!this.#blocks.holds(last, offset)) offset--;
    return offset;
  }

  /** Yields the runs of members, ascending. */
  *ranges(): IterableIterator<OffsetRange> {
    for (let from = this.min(); from !== undefined; ) {
      const to = this.firstMissing(from);
      yield [from, to];
      from = this.firstFrom(to);
    }
  }

  /** Yields the runs of offsets in [from, to) that are not in the set, ascending. */
  *gaps(from: number, to: number): IterableIterator<OffsetRange> {
    for (let missing = this.firstMissing(from); missing < to; ) {
      const end = Math.min(this.firstFrom(missing) ?? to, to);
      yield [missing, end];
      missing = this.firstMissing(end);
    }
  }

  *[Symbol.iterator](): IterableIterator<number> {
    for (const [from, to] of this.ranges())
      for (let offset = from; offset < to; offset++) yield offset;
  }

  clone(): OffsetSet {
    const copy = new OffsetSet();
    copy.#blocks = this.#blocks.clone();
    return copy;
  }

  encode(): string {
    const min = this.min();
    if (min === undefined) return '';
    const low = Math.floor(min / 8);
    const head = Buffer.of(BITMAP, ...NUMBER);
    const start = writeUnsigned(head, low * 8, 1);
    const bytes = Math.floor((this.max() as number) / 8) - low + 1;
    const encoded =
      this.#encodeRuns(start + bytes) ??
      Buffer.concat([head.subarray(0, start), this.#blocks.bitmap(low, bytes)]);
    return encoded.toString('base64');
  }

  /** Encodes the set as runs. @returns undefined if they take `limit` bytes or more */
  #encodeRuns(limit: number): Buffer | undefined {
    let out = Buffer.of(RUNS, ...NUMBER, ...NUMBER);
    let at = 1;
    let end = 0;
    for (const [from, to] of this.ranges()) {
      if (out.length - at < 2 * NUMBER.length) out = Buffer.concat([out], 2 * out.length);
      at = writeUnsigned(out, to - from, writeUnsigned(out, from - end, at));
      if (at >= limit) return undefined;
      end = to;
    }
    return out.subarray(0, at);
  }

  /** Decodes the result of `encode`. @throws RangeError if it is invalid */
  static decode(text: string): OffsetSet {
    const set = new OffsetSet();
    if (text === '') return set;
    const bytes = Buffer.from(text, 'base64');
    const cursor = { at: 1 };
    if (bytes[0] === BITMAP) {
      const base = readUnsigned(bytes, cursor);
      if (base % 8 !== 0)
        throw new RangeError('offset set: a bitmap must start at a multiple of 8');
      assertOffset(base + (bytes.length - cursor.at) * 8);
      for (let offset = base; cursor.at < bytes.length; offset += 8) {
        const byte = bytes[cursor.at++] as number;
        if (byte !== 0) set.#blocks.put(set.#blocks.alone(blockOf(offset)), byteOf(offset), byte);
      }
      return set;
    }
    if (bytes[0] !== RUNS) throw new RangeError(`offset set: unknown encoding ${bytes[0]}`);
    let end = 0;
    while (cursor.at < bytes.length) {
      const from = end + readUnsigned(bytes, cursor);
      end = from + readUnsigned(bytes, cursor);
      assertOffset(end);
      set.addRange(from, end);
    }
    return set;
  }
}

/** @throws RangeError */
function assertOffset(offset: number): void {
  if (!Number.isSafeInteger(offset) || offset < 0) throw new RangeError(`not an offset: ${offset}`);
}

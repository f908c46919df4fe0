/**
 * A set of offsets of one partition, as a bitmap over a moving window. Spans are bounded by the pipeline's `maxSpan`, so a
 * set of a few thousand offsets costs a few kilobytes, in memory and in the journal.
 *
 * Encoded (base64 of bytes) as a bitmap or as runs (delta varints of where membership changes), whichever is smaller.
 */
const BITMAP = 0;
const RUNS = 1;

export class OffsetSet {
  /** Offset of bit 0; a multiple of 8. */
  #base = 0;
  #bits: Uint8Array<ArrayBufferLike> = new Uint8Array(0);
  /** One past the highest byte in use. */
  #used = 0;
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
    const index = offset - this.#base;
    if (index < 0) return false;
    const byte = Math.floor(index / 8);
    return byte < this.#used && (((this.#bits[byte] as number) >> (index & 7)) & 1) === 1;
  }

  /** @returns whether it was new. @throws RangeError when the set would be wider than it may be encoded */
  add(offset: number): boolean {
    const byte = this.#reach(offset);
    const mask = 1 << (offset & 7);
    const before = this.#bits[byte] as number;
    if (before & mask) return false;
    this.#bits[byte] = before | mask;
    this.#size++;
    return true;
  }

  /**
   * Adds every offset from `from` up to, not including, `to`.
   * @throws RangeError when the set would be wider than it may be encoded; then it stays as it was
   */
  addRange(from: number, to: number): void {
    if (to <= from) return;
    if (to - from > MAX_WINDOW)
      throw new RangeError(`offset set: ${to - from} offsets from ${from} on are wider than any window`);
    this.#reach(from);
    this.#reach(to - 1);
    for (let offset = from; offset < to; ) {
      const byte = Math.floor((offset - this.#base) / 8);
      if ((offset & 7) === 0 && to - offset >= 8) {
        this.#size += 8 - popcount(this.#bits[byte] as number);
        this.#bits[byte] = 0xff;
        offset += 8;
      } else {
        this.add(offset);
        offset++;
      }
    }
  }

  /** @returns whether it was there. */
  delete(offset: number): boolean {
    if (!this.has(offset)) return false;
    const byte = Math.floor((offset - this.#base) / 8);
    this.#bits[byte] = (this.#bits[byte] as number) & ~(1 << (offset & 7));
    this.#size--;
    // Nothing is left in the window: the next offset begins another.
    if (this.#size === 0) this.#used = 0;
    return true;
  }

  /** The first offset ≥ `from` that is not in the set. */
  firstMissing(from: number): number {
    let offset = from;
    while (this.has(offset)) {
      const byte = Math.floor((offset - this.#base) / 8);
      if ((offset & 7) === 0 && this.#bits[byte] === 0xff) offset += 8;
      else offset++;
    }
    return offset;
  }

  /** Forgets every offset below `offset`. */
  dropBelow(offset: number): void {
    const bytes = Math.min(Math.floor((offset - this.#base) / 8), this.#used);
    if (bytes > 0) {
      for (let i = 0; i < bytes; i++) this.#size -= popcount(this.#bits[i] as number);
      // Moves the window by copying what stays; the buffer is kept, so a steady stream allocates nothing.
      this.#bits.copyWithin(0, bytes, this.#used);
      this.#bits.fill(0, this.#used - bytes, this.#used);
      this.#used -= bytes;
      this.#base += bytes * 8;
    }
    if (this.#used === 0) this.#base = offset - (offset & 7);
    for (let low = this.#base; low < offset; low++) this.delete(low);
  }

  min(): number | undefined {
    for (const offset of this) return offset;
    return undefined;
  }

  max(): number | undefined {
    for (let byte = this.#used - 1; byte >= 0; byte--) {
      const bits = this.#bits[byte] as number;
      if (bits !== 0) return this.#base + byte * 8 + (31 - Math.clz32(bits));
    }
    return undefined;
  }

  *[Symbol.iterator](): IterableIterator<number> {
    for (let byte = 0; byte < this.#used; byte++) {
      const bits = this.#bits[byte] as number;
      if (bits === 0) continue;
      for (let bit = 0; bit < 8; bit++) if ((bits >> bit) & 1) yield this.#base + byte * 8 + bit;
    }
  }

  clone(): OffsetSet {
    const copy = new OffsetSet();
    copy.#base = this.#base;
    copy.#bits = this.#bits.slice(0, this.#used);
    copy.#used = this.#used;
    copy.#size = this.#size;
    return copy;
  }

  /** Makes room for `offset`; returns the index of its byte. @throws RangeError, before anything changed */
  #reach(offset: number): number {
    if (!Number.isSafeInteger(offset) || offset < 0) throw new RangeError(`not an offset: ${offset}`);
    if (this.#used === 0) this.#base = offset - (offset & 7);
    const window = Math.max(offset + 1, this.#base + this.#used * 8) - Math.min(offset - (offset & 7), this.#base);
    if (window > MAX_WINDOW) {
      throw new RangeError(
        `offset set: with offset ${offset} it would be wider than any window: ${window} offsets from ${Math.min(offset, this.#base)} on, ${MAX_WINDOW} at the most`,
      );
    }
    if (offset < this.#base) {
      const shift = (this.#base - (offset - (offset & 7))) / 8;
      const grown = new Uint8Array(Math.max(this.#bits.length, this.#used + shift));
      grown.set(this.#bits.subarray(0, this.#used), shift);
      this.#bits = grown;
      this.#used += shift;
      this.#base -= shift * 8;
    }
    const byte = Math.floor((offset - this.#base) / 8);
    if (byte >= this.#bits.length) {
      const grown = new Uint8Array(Math.max(16, this.#bits.length * 2, byte + 1));
      grown.set(this.#bits.subarray(0, this.#used));
      this.#bits = grown;
    }
    if (byte >= this.#used) this.#used = byte + 1;
    return byte;
  }

  encode(): string {
    const low = this.min();
    if (low === undefined) return '';
    const bitmap = this.#encodeBitmap();
    const runs = this.#encodeRuns(bitmap.length);
    return Buffer.from(runs !== undefined && runs.length < bitmap.length ? runs : bitmap).toString('base64');
  }

  #encodeBitmap(): Uint8Array {
    let first = 0;
    while (this.#bits[first] === 0) first++;
    let last = this.#used - 1;
    while (this.#bits[last] === 0) last--;
    const head: number[] = [BITMAP];
    putVarint(head, this.#base + first * 8);
    const out = new Uint8Array(head.length + last - first + 1);
    out.set(head);
    out.set(this.#bits.subarray(first, last + 1), head.length);
    return out;
  }

  /** @returns undefined as soon as it is clear that runs are not smaller than `limit` bytes. */
  #encodeRuns(limit: number): number[] | undefined {
    const out: number[] = [RUNS];
    let end = 0;
    let start = this.min();
    const max = this.max() as number;
    while (start !== undefined && start <= max) {
      if (out.length >= limit) return undefined;
      putVarint(out, start - end);
      end = this.firstMissing(start);
      putVarint(out, end - start);
      start = this.#nextMember(end);
    }
    return out;
  }

  #nextMember(from: number): number | undefined {
    const limit = this.#base + this.#used * 8;
    for (let offset = from; offset < limit; ) {
      const byte = Math.floor((offset - this.#base) / 8);
      if ((offset & 7) === 0 && this.#bits[byte] === 0) offset += 8;
      else if (this.has(offset)) return offset;
      else offset++;
    }
    return undefined;
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
      if ((bytes.length - cursor.at) * 8 > MAX_WINDOW) throw new RangeError('offset set: wider than any window');
      set.#base = base;
      set.#bits = Uint8Array.from(bytes.subarray(cursor.at));
      set.#used = set.#bits.length;
      for (const byte of set.#bits) set.#size += popcount(byte);
      return set;
    }
    if (bytes[0] !== RUNS) throw new RangeError(`offset set: unknown encoding ${bytes[0]}`);
    let end = 0;
    let first: number | undefined;
    while (cursor.at < bytes.length) {
      const start = end + takeVarint(bytes, cursor);
      end = start + takeVarint(bytes, cursor);
      first ??= start;
      if (end - first > MAX_WINDOW) throw new RangeError('offset set: wider than any window');
      set.addRange(start, end);
    }
    return set;
  }
}

/**
 * From the first to the last offset, 32 MiB of bits. Refuses absurd sets of a broken record before they take memory, and any set
 * that nobody could read again before it is written.
 */
const MAX_WINDOW = 2 ** 28;

function popcount(byte: number): number {
  let bits = byte - ((byte >> 1) & 0x55);
  bits = (bits & 0x33) + ((bits >> 2) & 0x33);
  return (bits + (bits >> 4)) & 0x0f;
}

function putVarint(out: number[], value: number): void {
  let rest = value;
  while (rest >= 0x80) {
    out.push((rest % 0x80) | 0x80);
    rest = Math.floor(rest / 0x80);
  }
  out.push(rest);
}

function takeVarint(bytes: Uint8Array, cursor: { at: number }): number {
  let value = 0;
  let scale = 1;
  for (;;) {
    const byte = bytes[cursor.at++];
    if (byte === undefined) throw new RangeError('offset set: cut short');
    value += (byte & 0x7f) * scale;
    if (!Number.isSafeInteger(value)) throw new RangeError('offset set: a number is too large');
    if (byte < 0x80) return value;
    scale *= 0x80;
  }
}

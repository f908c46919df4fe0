/**
 * Cache of values made from cells, by the text of a cell and by its bytes: a repeated cell is not
 * even decoded. The memory is bounded, because each row may have a new text: a full cache is
 * emptied.
 */
import type { RowScanner } from './row-scanner.ts';

interface RecentCell<T> {
  readonly bytes: Buffer;
  readonly isDoubled: boolean;
  readonly made: T;
}

/** Memory of an entry besides its text and its value. */
const ENTRY_BYTES = 200;
const DEFAULT_BYTES = 256 * 1024;
/** Entries found by a hash of their bytes; a power of two. */
const RECENT = 64;
/** Bytes in a hash; at most twice as many. */
const SAMPLES = 32;
/** Largest cell found by its hash, bytes. */
const MAX_RECENT_BYTES = 1024;

export class CellMemo<T> {
  readonly #make: (text: string) => T;
  readonly #maxBytes: number;
  readonly #bytesOf: (made: T) => number;
  readonly #made = new Map<string, T>();
  readonly #recent: (RecentCell<T> | undefined)[] = new Array(RECENT).fill(undefined);
  #heldBytes = 0;

  /** @param bytesOf memory of a value beyond that of its text */
  constructor(
    make: (text: string) => T,
    bytesOf: (made: T) => number = () => 0,
    maxBytes = DEFAULT_BYTES,
  ) {
    this.#make = make;
    this.#maxBytes = maxBytes;
    this.#bytesOf = bytesOf;
  }

  has(text: string): boolean {
    return this.#made.has(text);
  }

  /** Returns the value of a text. */
  of(text: string): T {
    const known = this.#made.get(text);
    if (known !== undefined || this.#made.has(text)) return known as T;
    const made = this.#make(text);
    const bytes = ENTRY_BYTES + 2 * text.length + this.#bytesOf(made);
    // An entry that takes the room of many is not kept.
    if (bytes > this.#maxBytes / 8) return made;
    if (this.#heldBytes + bytes > this.#maxBytes) {
      this.#made.clear();
      this.#heldBytes = 0;
    }
    this.#made.set(text, made);
    this.#heldBytes += bytes;
    return made;
  }

  /** Returns the value of a cell of a row. */
  ofCell(row: RowScanner, cell: number): T {
    return this.at(row.bytes, row.start(cell), row.end(cell), row.isDoubled(cell));
  }

  /** @param isDoubled whether two quotes in the bytes are one */
  at(bytes: Buffer, start: number, end: number, isDoubled: boolean): T {
    const slot = slotOf(bytes, start, end);
    const recent = this.#recent[slot];
    if (
      recent !== undefined &&
      recent.isDoubled === isDoubled &&
      isEqual(recent.bytes, bytes, start, end)
    )
      return recent.made;
    const raw = bytes.toString('utf8', start, end);
    const text = isDoubled ? raw.replaceAll('""', '"') : raw;
    const repeats = end - start <= MAX_RECENT_BYTES && this.has(text);
    const made = this.of(text);
    if (repeats)
      this.#recent[slot] = { bytes: Buffer.from(bytes.subarray(start, end)), isDoubled, made };
    return made;
  }
}

function slotOf(bytes: Buffer, start: number, end: number): number {
  const step = 1 + Math.floor((end - start) / SAMPLES);
  let hash = end - start;
  for (let at = start; at < end; at += step) hash = (hash * 31 + (bytes[at] as number)) | 0;
  return (hash ^ (hash >>> 6) ^ (hash >>> 12)) & (RECENT - 1);
}

/** Compares with bytes[start, end). Cheaper for short cells than a call of Node. */
function isEqual(one: Buffer, bytes: Buffer, start: number, end: number): boolean {
  if (one.length !== end - start) return false;
  for (let at = 0; at < one.length; at++) if (one[at] !== bytes[start + at]) return false;
  return true;
}

/** Cache of values that are made from cells, found by the bytes of a cell: a cell that repeats is not decoded again. */
import { DOUBLED, type RowScanner } from './row-scanner.ts';
import type { TextMemo } from './text-memo.ts';

interface Entry<T> {
  readonly bytes: Buffer;
  readonly isDoubled: boolean;
  readonly made: T;
}

/** Entries that are found by a hash of their bytes; a power of two. */
const RECENT = 64;
/** Bytes that go into a hash, at most twice as many. */
const SAMPLES = 32;
/** Size of the largest cell that is found by its hash, bytes. */
const MAX_BYTES = 1024;

export class CellMemo<T> {
  readonly #texts: TextMemo<T>;
  readonly #recent: (Entry<T> | undefined)[] = new Array(RECENT).fill(undefined);

  /** @param texts values by the text of a cell */
  constructor(texts: TextMemo<T>) {
    this.#texts = texts;
  }

  /** Returns the value of a cell of the scanned row. */
  of(row: RowScanner, bytes: Buffer, cell: number): T {
    return this.at(
      bytes,
      row.starts[cell] as number,
      row.ends[cell] as number,
      row.forms[cell] === DOUBLED,
    );
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
    const repeats = end - start <= MAX_BYTES && this.#texts.has(text);
    const made = this.#texts.of(text);
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

function isEqual(one: Buffer, bytes: Buffer, start: number, end: number): boolean {
  const { length } = one;
  if (length !== end - start) return false;
  for (let at = 0; at < length; at++) if (one[at] !== bytes[start + at]) return false;
  return true;
}

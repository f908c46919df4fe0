/**
 * The common reference as a CSV cell, written without an intermediate string: one with no extras (reference.ts) and a key that
 * needs no JSON escapes. A shape needs escapes neither in JSON nor in a cell.
 */
import type { ContentItem } from '../../../core/record.ts';
import { NUMBER_ROOM, writeAscii, writeNumber } from '../number-bytes.ts';
import type { MetadataColumn } from './metadata-columns.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
/** Room for the marks between the parts, bytes. */
const MARKS_ROOM = 32;

/** Returns how many bytes the reference of an item takes at most. */
export function referenceRoom(
  { key }: ContentItem,
  columns: readonly MetadataColumn[],
  width: number,
): number {
  let room = MARKS_ROOM + 3 * NUMBER_ROOM + (key === null ? 0 : key.length);
  for (let i = 0; i < width; i++) room += 1 + (columns[i] as MetadataColumn).entry.length;
  return room;
}

/**
 * Writes the reference of an item where there is `referenceRoom`.
 * @param columns first the `width` columns in which the row has its metadata
 * @returns where the next byte goes; -1 when the key needs escapes: what was written is to be overwritten
 */
export function writePlainReference(
  to: Buffer,
  item: ContentItem,
  columns: readonly MetadataColumn[],
  width: number,
  start: number,
): number {
  let at = start;
  to[at++] = QUOTE;
  to[at++] = 0x5b;
  at = writeNumber(to, item.partition, at);
  to[at++] = COMMA;
  at = writeNumber(to, item.offset, at);
  to[at++] = COMMA;
  at = writeNumber(to, item.timestampMs, at);
  to[at++] = COMMA;
  if (item.key === null) at = writeAscii(to, 'null', at);
  else {
    const { key } = item;
    to[at++] = QUOTE;
    to[at++] = QUOTE;
    for (let i = 0; i < key.length; i++) {
      const byte = key[i] as number;
      if (byte < 0x20 || byte > 0x7e || byte === QUOTE || byte === BACKSLASH) return -1;
      to[at++] = byte;
    }
    to[at++] = QUOTE;
    to[at++] = QUOTE;
  }
  if (width > 0) at = writeShape(to, columns, width, at);
  to[at++] = 0x5d;
  to[at++] = QUOTE;
  return at;
}

function writeShape(
  to: Buffer,
  columns: readonly MetadataColumn[],
  width: number,
  start: number,
): number {
  let at = start;
  to[at++] = COMMA;
  to[at++] = QUOTE;
  to[at++] = QUOTE;
  for (let i = 0; i < width; i++) {
    if (i > 0) to[at++] = COMMA;
    const { entry, held } = columns[i] as MetadataColumn;
    for (let from = held === 'text' ? 1 : 0; from < entry.length; from++)
      to[at++] = entry[from] as number;
  }
  to[at++] = QUOTE;
  to[at++] = QUOTE;
  return at;
}

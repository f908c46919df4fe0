/**
 * CSV rows of an upload: RFC 4180, UTF-8 without a byte order mark, CRLF line ends. Each row is
 * encoded as soon as its item is added.
 *
 * The columns are `Content`, the policy columns in order of first appearance, and the connector's
 * own column, the only one whose value is read back from the results. A row is written with the
 * columns known at that time. `finish` inserts the commas of later columns, whose cells are empty.
 */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { textOfString } from '../../../packages/client/src/base/json/json-text.ts';
import {
  type ColumnOptions,
  REFERENCE_COLUMN,
} from '../../../packages/client/src/results/result-header.ts';
import { CONTENT_COLUMN } from '../../../packages/client/src/service/contract.ts';
import type { BufferPool } from '../../core/bytes/buffer-pool.ts';
import type { EncodedBody, RowSink } from '../../core/bytes/row-sink.ts';
import { pooledBody, Slabs } from '../../core/bytes/slabs.ts';
import type { ContentItem, JsonPart } from '../../core/record.ts';
import { copied } from './byte-writer.ts';
import { EventPart, type EventPartOptions } from './event-part.ts';
import { PolicyColumns } from './policy-columns.ts';
import { RowSeal } from './row-seal.ts';

// Writers of CSV cells (RFC 4180, UTF-8).

const QUOTE = 0x22;
const COMMA = 0x2c;
/** Size from which a cell is quoted without checking its bytes, because readers skip quoted bytes faster. */
const LONG = 64;

/** Writes any bytes as a quoted cell. @param to buffer with room for twice the bytes and two more */
function writeCell(from: Buffer, start: number, end: number, to: Buffer, first: number): number {
  let at = first;
  to[at++] = QUOTE;
  for (let read = start; read < end; read++) {
    const byte = from[read] as number;
    to[at++] = byte;
    if (byte === QUOTE) to[at++] = QUOTE;
  }
  to[at++] = QUOTE;
  return at;
}

/**
 * Writes bytes without quotes or line ends, such as the text of a JSON string without escapes.
 * @param to buffer with room for two more bytes
 */
function writePlainCell(from: Buffer, start: number, end: number, to: Buffer, at: number): number {
  let byte = start;
  const checked = end - start >= LONG ? start : end;
  while (byte < checked && from[byte] !== COMMA) byte++;
  if (byte === end) return copied(from, start, end, to, at);
  to[at] = QUOTE;
  const next = copied(from, start, end, to, at + 1);
  to[next] = QUOTE;
  return next + 1;
}

const LF = 0x0a;
const CR = 0x0d;
const OPENING = 0x5b;
const BACKSLASH = 0x5c;
const OPENING_OBJECT = 0x7b;
/** Number of slabs copied per turn of the event loop, which takes about a millisecond. */
const TURN_SLABS = 8;
/** Memory per cut in bytes. */
const CUT_BYTES = 16;

export type UploadOptions = ColumnOptions & EventPartOptions;

export class CsvRows implements RowSink {
  readonly rowKey: string;
  readonly #seal: RowSeal;
  readonly #part: EventPart;
  readonly #pool: BufferPool;
  readonly #options: UploadOptions;
  readonly #slabs: Slabs;
  #columns: PolicyColumns;
  /** Number of the current row. A row that could not be written has a number too. */
  #row = 0;
  /** Offset at which `finish` inserts commas in each row. Offsets are relative to the bytes of all rows. */
  #cuts: number[] = [];
  /** Number of policy columns that were written in each row. */
  #widths: number[] = [];

  /** @param rowKey key that seals the reference column @param part reused for each row; several uploads may share it */
  constructor(options: UploadOptions, pool: BufferPool, rowKey: string, part = new EventPart()) {
    this.rowKey = rowKey;
    this.#seal = new RowSeal(rowKey);
    this.#part = part;
    this.#pool = pool;
    this.#options = options;
    this.#slabs = new Slabs(pool);
    this.#columns = new PolicyColumns(options);
  }

  get heldBytes(): number {
    return this.#slabs.heldBytes + this.#columns.heldBytes + CUT_BYTES * this.#cuts.length;
  }

  add(item: ContentItem): void {
    // A row that could not be written may leave an empty column, but nothing else.
    this.#slabs.dropRow();
    this.#write(item, this.#row++);
  }

  async finish(): Promise<EncodedBody> {
    const header = this.#header();
    const cuts = this.#cuts;
    const rows = cuts.length;
    const missing = this.#widths.map((width) => this.#columns.list.length - width);
    const inserted = missing.reduce((sum, commas) => sum + commas, 0);
    const pooled = pooledBody(this.#pool, header.length + this.#slabs.length + inserted);
    const { body } = pooled;
    let at = header.copy(body);
    let row = 0;
    let slabStart = 0;
    for (const [number, slab] of this.#slabs.written().entries()) {
      let from = 0;
      for (; row < rows && (cuts[row] as number) < slabStart + slab.length; row++) {
        if (missing[row] === 0) continue;
        const cut = (cuts[row] as number) - slabStart;
        at += slab.copy(body, at, from, cut);
        from = cut;
        const end = at + (missing[row] as number);
        body.fill(COMMA, at, end);
        at = end;
      }
      at += slab.copy(body, at, from);
      slabStart += slab.length;
      if (number % TURN_SLABS === TURN_SLABS - 1) await nextTurn();
    }
    this.release();
    return { ...pooled, rows };
  }

  release(): void {
    this.#slabs.release();
    this.#columns = new PolicyColumns(this.#options);
    this.#cuts = [];
    this.#widths = [];
  }

  #write(item: ContentItem, row: number): void {
    const slabs = this.#slabs;
    const rowStart = slabs.length;
    const { content, expected } = item;
    const part = this.#part;
    part.encode(item, this.#options);
    const columns = this.#columns;
    columns.place(part.metadata, part.bytes, row);
    if (expected !== undefined) columns.placeExpected(row);
    this.#string(content);
    for (const column of columns.list) {
      this.#byte(COMMA);
      if (column.row !== row) continue;
      if (column === columns.expected) this.#string(expected as JsonPart);
      else this.#value(part, column.member);
    }
    const cut = slabs.at - slabs.rowStart;
    this.#byte(COMMA);
    this.#reference(part);
    this.#byte(CR);
    this.#byte(LF);
    slabs.endRow();
    this.#cuts.push(rowStart + cut);
    this.#widths.push(columns.list.length);
  }

  #byte(byte: number): void {
    const slabs = this.#slabs;
    slabs.room(1);
    slabs.buffer[slabs.at++] = byte;
  }

  #string({ bytes, start, end, hasEscapes }: JsonPart): void {
    this.#text(bytes, start, end, hasEscapes);
  }

  /** Writes a JSON string as a cell, replacing characters that a cell cannot contain. */
  #text(bytes: Buffer, start: number, end: number, hasEscapes: boolean): void {
    if (!hasEscapes) {
      this.#cell(bytes, start + 1, end - 1, true);
      return;
    }
    const text = textOfString({ bytes, start, end, hasEscapes });
    // UTF-8 has no lone surrogates, and many CSV readers reject U+0000.
    const shown = Buffer.from(text.toWellFormed().replaceAll('\0', '\ufffd'));
    this.#cell(shown, 0, shown.length, false);
  }

  /** Writes a metadata value: a string as its text, any other value as its JSON. */
  #value({ metadata, bytes }: EventPart, member: number): void {
    const start = metadata.valueStart(member);
    const end = metadata.valueEnd(member);
    const first = bytes[start];
    if (first === QUOTE) this.#text(bytes, start, end, hasBackslash(bytes, start, end));
    else this.#cell(bytes, start, end, first !== OPENING && first !== OPENING_OBJECT);
  }

  #cell(from: Buffer, start: number, end: number, isPlain: boolean): void {
    const slabs = this.#slabs;
    slabs.room((isPlain ? 1 : 2) * (end - start) + 2);
    const write = isPlain ? writePlainCell : writeCell;
    slabs.at = write(from, start, end, slabs.buffer, slabs.at);
  }

  /** Writes the sealed part. It is quoted, because readers skip quoted bytes faster. */
  #reference(part: EventPart): void {
    const slabs = this.#slabs;
    slabs.room(RowSeal.size(part) + 2);
    slabs.buffer[slabs.at++] = QUOTE;
    slabs.at = this.#seal.write(part, slabs.buffer, slabs.at);
    slabs.buffer[slabs.at++] = QUOTE;
  }

  #header(): Buffer {
    const columns = this.#columns.list.map(({ header }) => header);
    const cells = [CONTENT_COLUMN, ...columns, REFERENCE_COLUMN].map((name) => {
      const bytes = Buffer.from(name);
      const cell = Buffer.allocUnsafe(2 * bytes.length + 2);
      const write = name.includes('"') ? writeCell : writePlainCell;
      return cell.toString('utf8', 0, write(bytes, 0, bytes.length, cell, 0));
    });
    return Buffer.from(`${cells.join(',')}\r\n`);
  }
}

function hasBackslash(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (bytes[at] === BACKSLASH) return true;
  return false;
}

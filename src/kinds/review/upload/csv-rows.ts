/**
 * Rows of an upload, written as bytes as soon as an item is known: RFC 4180, UTF-8 without a byte
 * order mark, records end in CRLF.
 *
 * The columns are `Content`, those for policies in order of first appearance, `Expected result` if
 * any item has one, and the connector's own, which alone is read from the results. A row is written
 * with the columns known by then; `finish` inserts the commas of its later, empty cells.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { textOfString } from '../../../base/json/json-text.ts';
import type { BufferPool } from '../../../core/bytes/buffer-pool.ts';
import type { EncodedBody, RowSink } from '../../../core/bytes/row-sink.ts';
import { pooledBody, Slabs } from '../../../core/bytes/slabs.ts';
import type { ContentItem, JsonPart } from '../../../core/record.ts';
import { CONTENT_COLUMN, RESULT_COLUMNS } from '../../../service/contract.ts';
import { EventPart } from '../decision/event-part.ts';
import { RowSeal } from '../decision/row-seal.ts';
import { type ColumnOptions, REFERENCE_COLUMN } from '../metadata/columns.ts';
import { cellRoom, writeCell, writeJsonCell, writePlainCell } from './cell-bytes.ts';
import { type PolicyColumn, PolicyColumns } from './policy-columns.ts';

const LF = 0x0a;
const CR = 0x0d;
const QUOTE = 0x22;
const COMMA = 0x2c;
const OPENING = 0x5b;
const BACKSLASH = 0x5c;
const OPENING_OBJECT = 0x7b;
/** Slabs copied before other events are handled: about a millisecond's work. */
const TURN_SLABS = 8;
/** Memory of a cut. */
const CUT_BYTES = 16;

export interface UploadOptions extends ColumnOptions {
  /** The reference carries the content for the decision. */
  readonly includeContent: boolean;
}

export class CsvRows implements RowSink {
  readonly rowKey: string;
  readonly #seal: RowSeal;
  readonly #part: EventPart;
  readonly #pool: BufferPool;
  readonly #options: UploadOptions;
  readonly #slabs: Slabs;
  readonly #columns: PolicyColumns;
  /** Per row, the place where `finish` inserts commas: an offset into the bytes of all rows. */
  #cuts: number[] = [];
  /** Per row, its commas between `Content` and the reference, without the last one. */
  #commas: number[] = [];
  #expected = false;

  /**
   * @param rowKey seals the references
   * @param part reused for each row; several uploads may share it
   */
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
    const known = this.#columns.list.length;
    try {
      this.#write(item);
    } catch (error) {
      this.#slabs.dropRow();
      this.#columns.drop(known);
      throw error;
    }
  }

  async finish(): Promise<EncodedBody> {
    const header = this.#header();
    const cuts = this.#cuts;
    const rows = cuts.length;
    const most = this.#columns.list.length + (this.#expected ? 1 : 0);
    const missing = this.#commas.map((commas) => most - commas);
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
    this.#columns.drop(0);
    this.#cuts = [];
    this.#commas = [];
  }

  #write(item: ContentItem): void {
    const slabs = this.#slabs;
    const rowStart = slabs.length;
    const row = this.#cuts.length;
    const { content, expected } = item;
    const part = this.#part;
    part.encode(item, this.#options.includeContent);
    this.#columns.place(part.metadata, part.bytes, row);
    this.#text(content);
    const columns = this.#columns.list;
    for (let i = 0; i < columns.length; i++) {
      this.#byte(COMMA);
      const column = columns[i] as PolicyColumn;
      if (column.row === row) this.#value(part, column.member);
    }
    const cut = slabs.at - slabs.rowStart;
    if (expected !== undefined || this.#expected) this.#byte(COMMA);
    if (expected !== undefined) this.#text(expected);
    this.#byte(COMMA);
    this.#reference(part);
    this.#byte(CR);
    this.#byte(LF);

    // Nothing fails from here on.
    slabs.endRow();
    if (expected !== undefined) this.#expected = true;
    this.#cuts.push(rowStart + cut);
    this.#commas.push(columns.length + (this.#expected ? 1 : 0));
  }

  #byte(byte: number): void {
    const slabs = this.#slabs;
    slabs.room(1);
    slabs.buffer[slabs.at++] = byte;
  }

  /** Writes a JSON string as text, as far as a cell can show it. */
  #text(part: JsonPart): void {
    const { bytes, start, end, hasEscapes } = part;
    if (hasEscapes) {
      const text = textOfString(part);
      // UTF-8 has no lone surrogates, and many readers of CSV refuse U+0000.
      const shown = text.toWellFormed().replaceAll('\0', '\ufffd');
      this.#cell(shown);
      return;
    }
    const slabs = this.#slabs;
    slabs.room(end - start);
    slabs.at = writePlainCell(bytes, start + 1, end - 1, slabs.buffer, slabs.at);
  }

  /** Writes a value of the metadata: a string as text, others as JSON. */
  #value({ metadata, bytes }: EventPart, member: number): void {
    const start = metadata.valueStart(member);
    const end = metadata.valueEnd(member);
    const first = bytes[start];
    const slabs = this.#slabs;
    if (first === QUOTE) {
      const hasEscapes = hasBackslash(bytes, start, end);
      this.#text({ bytes, start, end, hasEscapes });
    } else if (first === OPENING || first === OPENING_OBJECT) {
      slabs.room(2 * (end - start) + 2);
      slabs.at = writeJsonCell(bytes, start, end, slabs.buffer, slabs.at);
    } else {
      slabs.room(end - start + 2);
      slabs.at = writePlainCell(bytes, start, end, slabs.buffer, slabs.at);
    }
  }

  #cell(text: string): void {
    const slabs = this.#slabs;
    slabs.room(cellRoom(text));
    slabs.at = writeCell(slabs.buffer, text, slabs.at);
  }

  /** Writes the sealed part, quoted: a reader skips quoted bytes faster. */
  #reference(part: EventPart): void {
    const slabs = this.#slabs;
    slabs.room(RowSeal.size(part) + 2);
    slabs.buffer[slabs.at++] = QUOTE;
    slabs.at = this.#seal.write(part, slabs.buffer, slabs.at);
    slabs.buffer[slabs.at++] = QUOTE;
  }

  #header(): Buffer {
    const names = [CONTENT_COLUMN, ...this.#columns.list.map(({ header }) => header)];
    if (this.#expected) names.push(RESULT_COLUMNS.expected);
    names.push(REFERENCE_COLUMN);
    const bytes = Buffer.allocUnsafe(names.reduce((room, name) => room + cellRoom(name) + 2, 0));
    let at = 0;
    for (const name of names) {
      if (at > 0) bytes[at++] = COMMA;
      at = writeCell(bytes, name, at);
    }
    bytes[at++] = CR;
    bytes[at++] = LF;
    return bytes.subarray(0, at);
  }
}

function hasBackslash(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (bytes[at] === BACKSLASH) return true;
  return false;
}

/**
 * Rows of an upload, written as bytes as soon as an item is known: RFC 4180, UTF-8 without a byte
 * order mark, records end in CRLF.
 *
 * Cells with a CR, LF, comma or quote are quoted, so line ends inside content stay. Content that a
 * spreadsheet would run as a formula is changed only if configured (csv-injection.ts).
 *
 * The columns are `Content`, one per metadata key in order of first appearance, `Expected result`
 * if any item has one, and the connector's own. A row is written with the columns known by then;
 * `finish` inserts the commas of its later, empty cells.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { BufferPool } from '../../../core/bytes/buffer-pool.ts';
import type { EncodedBody, RowSink } from '../../../core/bytes/row-sink.ts';
import { pooledBody, Slabs } from '../../../core/bytes/slabs.ts';
import type { ContentItem, JsonValue } from '../../../core/record.ts';
import { CONTENT_COLUMN, RESULT_COLUMNS } from '../../../service/contract.ts';
import { asText, looksLikeFormula } from '../csv-injection.ts';
import { ColumnNames } from '../metadata/column-names.ts';
import type { ColumnOptions } from '../metadata/columns.ts';
import { NUMBER_ROOM, writeNumber } from '../number-bytes.ts';
import { extrasJson, fitsInCell, keyJson } from '../reference.ts';
import { RowSignature, SIGNATURE_ROOM } from '../row-signature.ts';
import { cellRoom, writeCell, writeDoubled } from './cell-bytes.ts';
import { type MetadataColumn, MetadataColumns } from './metadata-columns.ts';

const LF = 0x0a;
const CR = 0x0d;
const QUOTE = 0x22;
const COMMA = 0x2c;
const ZERO = 0x30;
const OPENING = 0x5b;
const BACKSLASH = 0x5c;
const CLOSING = 0x5d;
const OPENING_OBJECT = 0x7b;
/** Slabs copied before other events are handled: about a millisecond's work. */
const TURN_SLABS = 8;
/** Memory of a cut. */
const CUT_BYTES = 16;
/** Room of a reference besides its key, shape and extras: numbers and marks. */
const REFERENCE_ROOM = 32 + 3 * NUMBER_ROOM + SIGNATURE_ROOM;

export class CsvRows implements RowSink {
  readonly rowKey: string | undefined;
  readonly #signature: RowSignature | undefined;
  readonly #pool: BufferPool;
  readonly #options: ColumnOptions;
  readonly #slabs: Slabs;
  readonly #columns: MetadataColumns;
  /** Per row, the place where `finish` inserts commas: an offset into the bytes of all rows. */
  #cuts: number[] = [];
  /** Per row, its commas between `Content` and the reference, without the last one. */
  #commas: number[] = [];
  #expected = false;
  /** Columns of the current row, in the order of its keys; the first `#rowWidth` are valid. */
  readonly #row: MetadataColumn[] = [];
  #rowWidth = 0;

  /** @param rowKey signs the references */
  constructor(options: ColumnOptions, pool: BufferPool, rowKey?: string) {
    this.rowKey = rowKey;
    this.#signature = rowKey === undefined ? undefined : new RowSignature(rowKey);
    this.#pool = pool;
    this.#options = options;
    this.#slabs = new Slabs(pool);
    this.#columns = new MetadataColumns(options.maxMetadataColumns);
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
    const { content, expected } = item;
    let isWhole = this.#place(item);
    this.#text(content);
    const columns = this.#columns.list;
    for (let i = 0; i < columns.length; i++) {
      this.#byte(COMMA);
      const column = columns[i] as MetadataColumn;
      const { value } = column;
      if (value === undefined) continue;
      column.value = undefined;
      if (typeof value !== 'string') {
        this.#json(value);
        column.form = 'json';
      } else if (this.#text(value)) column.form = 'text';
      else {
        column.form = 'none';
        isWhole = false;
      }
    }
    const cut = slabs.at - slabs.rowStart;
    if (expected !== undefined || this.#expected) this.#byte(COMMA);
    // An empty cell means that there is none.
    const isShown = expected === undefined || (this.#text(expected) && expected !== '');
    this.#byte(COMMA);
    const escapedContent = this.#options.escapeFormulas && looksLikeFormula(content);
    const { replay, headers, outputKey } = item;
    const extras =
      isWhole &&
      isShown &&
      !escapedContent &&
      replay === 0 &&
      headers.length === 0 &&
      outputKey === undefined
        ? undefined
        : extrasJson(item, {
            expected: isShown ? undefined : expected,
            metadata: isWhole ? undefined : this.#carried(item),
            escapedContent,
          });
    this.#reference(item, extras);
    this.#byte(CR);
    this.#byte(LF);

    // Nothing fails from here on.
    slabs.endRow();
    if (expected !== undefined) this.#expected = true;
    this.#cuts.push(rowStart + cut);
    this.#commas.push(columns.length + (this.#expected ? 1 : 0));
  }

  /** Puts the metadata into its columns. @returns whether there is a column for each key */
  #place({ metadata }: ContentItem): boolean {
    let isWhole = true;
    this.#rowWidth = 0;
    for (const key in metadata) {
      const column = this.#columns.of(key);
      if (column === undefined) isWhole = false;
      else {
        column.value = metadata[key];
        this.#row[this.#rowWidth++] = column;
      }
    }
    return isWhole;
  }

  /** Returns the metadata that the cells of the row do not hold. */
  #carried({ metadata }: ContentItem): [string, string][] {
    const carried: [string, string][] = [];
    for (const key in metadata) {
      const column = this.#columns.of(key);
      if (column === undefined || column.form === 'none')
        carried.push([key, JSON.stringify(metadata[key])]);
    }
    return carried;
  }

  #byte(byte: number): void {
    const slabs = this.#slabs;
    slabs.room(1);
    slabs.buffer[slabs.at++] = byte;
  }

  /** Writes a text as far as a cell can show it. @returns whether the cell holds the text */
  #text(text: string): boolean {
    const visible = fitsInCell(text) ? text : text.toWellFormed().replaceAll('\0', '\ufffd');
    const isFormula = this.#options.escapeFormulas && looksLikeFormula(text);
    const shown = isFormula ? asText(visible) : visible;
    this.#cell(shown);
    return shown === text;
  }

  #json(value: Exclude<JsonValue, string>): void {
    const slabs = this.#slabs;
    if (typeof value !== 'number') {
      this.#cell(JSON.stringify(value));
      return;
    }
    slabs.room(NUMBER_ROOM);
    slabs.at = writeNumber(slabs.buffer, value, slabs.at);
  }

  #cell(text: string): void {
    const slabs = this.#slabs;
    slabs.room(cellRoom(text));
    slabs.at = writeCell(slabs.buffer, text, slabs.at);
  }

  /** Writes the reference (reference.ts), always quoted. @param extras JSON, if there are any */
  #reference({ partition, offset, timestampMs, key }: ContentItem, extras?: string): void {
    const slabs = this.#slabs;
    const escapedKey = key !== null && !isPlain(key) ? keyJson(key) : undefined;
    slabs.room(
      REFERENCE_ROOM +
        (escapedKey === undefined ? (key?.length ?? 0) : cellRoom(escapedKey)) +
        (extras === undefined ? 0 : cellRoom(extras)) +
        this.#shapeRoom(),
    );
    const { buffer: to } = slabs;
    let at = slabs.at;
    to[at++] = QUOTE;
    const start = at;
    to[at++] = OPENING;
    at = writeNumber(to, partition, at);
    to[at++] = COMMA;
    at = writeNumber(to, offset, at);
    to[at++] = COMMA;
    at = writeNumber(to, timestampMs, at);
    to[at++] = COMMA;
    if (key === null) at = writeDoubled(to, 'null', at);
    else if (escapedKey !== undefined) at = writeDoubled(to, escapedKey, at);
    else {
      to[at++] = QUOTE;
      to[at++] = QUOTE;
      for (let i = 0; i < key.length; i++) to[at++] = key[i] as number;
      to[at++] = QUOTE;
      to[at++] = QUOTE;
    }
    const shapeEnd = this.#shape(to, at);
    const signature = this.#signature;
    if (extras !== undefined || signature !== undefined) {
      if (shapeEnd === at) {
        to[at++] = COMMA;
        to[at++] = ZERO;
      } else at = shapeEnd;
      to[at++] = COMMA;
    } else at = shapeEnd;
    if (extras !== undefined) at = writeDoubled(to, extras, at);
    if (signature === undefined) to[at++] = CLOSING;
    else {
      if (extras === undefined) to[at++] = OPENING_OBJECT;
      // Instead of the end of the extras.
      else to[at - 1] = COMMA;
      at = signature.write(to, start, at);
    }
    to[at++] = QUOTE;
    slabs.at = at;
  }

  #shapeRoom(): number {
    let room = 0;
    for (let i = 0; i < this.#rowWidth; i++)
      room += 1 + (this.#row[i] as MetadataColumn).entry.length;
    return room;
  }

  /** Writes the shape of the row behind a comma, unless it is empty. It needs no escapes. */
  #shape(to: Buffer, start: number): number {
    let at = start;
    for (let i = 0; i < this.#rowWidth; i++) {
      const { entry, form } = this.#row[i] as MetadataColumn;
      if (form === 'none') continue;
      to[at++] = COMMA;
      if (at === start + 1) {
        to[at++] = QUOTE;
        to[at++] = QUOTE;
      }
      for (let from = form === 'text' ? 1 : 0; from < entry.length; from++)
        to[at++] = entry[from] as number;
    }
    if (at === start) return at;
    to[at++] = QUOTE;
    to[at++] = QUOTE;
    return at;
  }

  #header(): Buffer {
    const { referenceColumn, resultColumn, escapeFormulas } = this.#options;
    const reserved = [referenceColumn, ...(resultColumn === undefined ? [] : [resultColumn])];
    const names = new ColumnNames(reserved, escapeFormulas);
    const header = [CONTENT_COLUMN, ...this.#columns.list.map(({ key }) => names.headerFor(key))];
    if (this.#expected) header.push(RESULT_COLUMNS.expected);
    header.push(referenceColumn);
    const bytes = Buffer.allocUnsafe(header.reduce((room, name) => room + cellRoom(name) + 2, 0));
    let at = 0;
    for (const name of header) {
      if (at > 0) bytes[at++] = COMMA;
      at = writeCell(bytes, name, at);
    }
    bytes[at++] = CR;
    bytes[at++] = LF;
    return bytes.subarray(0, at);
  }
}

/** True for printable ASCII that needs no JSON escapes. */
function isPlain(key: Buffer): boolean {
  for (let i = 0; i < key.length; i++) {
    const byte = key[i] as number;
    if (byte < 0x20 || byte > 0x7e || byte === QUOTE || byte === BACKSLASH) return false;
  }
  return true;
}

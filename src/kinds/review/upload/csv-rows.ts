/**
 * Rows of an upload, written as bytes the moment an item is known (service-interface.md 2.2): RFC 4180, UTF-8 without a byte order
 * mark, records end in CRLF.
 *
 * Every cell with a CR, an LF, a comma or a quote is quoted, so line ends inside content stay as they are. Content that a spreadsheet
 * would take for a formula is not touched unless asked for (formulas.ts): what is reviewed is what was posted.
 *
 * The columns are `Content`, one per metadata key in order of first appearance, `Expected result` when any item has one, and
 * the connector's own. A row is written with the columns known by then. Its cells of later columns are empty: `finish` inserts
 * their commas.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { BufferPool } from '../../../core/bytes/buffer-pool.ts';
import { pooledBody, Slabs } from '../../../core/bytes/slabs.ts';
import type { EncodedBody, RowSink } from '../../../core/ports/row-sink.ts';
import type { ContentItem, JsonValue } from '../../../core/record.ts';
import { CONTENT_COLUMN, RESULT_COLUMNS } from '../../../service/contract.ts';
import { asText, looksLikeFormula } from '../csv-injection.ts';
import { ColumnNames } from '../metadata/column-names.ts';
import type { ColumnOptions } from '../metadata/columns.ts';
import { NUMBER_ROOM, writeAscii, writeNumber } from '../number-bytes.ts';
import { type Carried, fitsInCell, writeReference } from '../reference.ts';
import { cellRoom, writeCell } from './cell-bytes.ts';
import { type MetadataColumn, MetadataColumns } from './metadata-columns.ts';
import { referenceRoom, writePlainReference } from './reference-bytes.ts';

const COMMA = 0x2c;
const CR = 0x0d;
const LF = 0x0a;
/** Slabs copied between two turns of the event loop: about a millisecond's work. */
const TURN_SLABS = 8;
/** Memory of a cut. */
const CUT_BYTES = 8;

export class CsvRows implements RowSink {
  readonly #pool: BufferPool;
  readonly #options: ColumnOptions;
  readonly #slabs: Slabs;
  readonly #columns: MetadataColumns;
  /** For each row, where `finish` inserts commas: an offset into the bytes of all rows. */
  #cuts: number[] = [];
  /** A stage is a run of rows with the same number of commas between `Content` and the reference, not counting the last. */
  #stages: { readonly row: number; readonly commas: number }[] = [];
  #expected = false;
  /** The first `#rowWidth` entries are the columns of the row that is being written, in the order of its keys. */
  readonly #row: MetadataColumn[] = [];
  #rowWidth = 0;

  constructor(options: ColumnOptions, pool: BufferPool) {
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
    const commas = this.#columns.list.length + (this.#expected ? 1 : 0);
    const rows = this.#cuts.length;
    let bytes = header.length + this.#slabs.length;
    for (const [i, stage] of this.#stages.entries()) {
      bytes += (commas - stage.commas) * ((this.#stages[i + 1]?.row ?? rows) - stage.row);
    }
    const pooled = pooledBody(this.#pool, bytes);
    const { body } = pooled;
    let at = header.copy(body);
    let row = 0;
    let stage = 0;
    let slabStart = 0;
    for (const [number, slab] of this.#slabs.written().entries()) {
      const slabEnd = slabStart + slab.length;
      let from = 0;
      for (; row < rows && (this.#cuts[row] as number) < slabEnd; row++) {
        if (row === this.#stages[stage + 1]?.row) stage++;
        const missing = commas - (this.#stages[stage]?.commas ?? commas);
        if (missing === 0) continue;
        const cut = (this.#cuts[row] as number) - slabStart;
        at += slab.copy(body, at, from, cut);
        body.fill(COMMA, at, at + missing);
        at += missing;
        from = cut;
      }
      at += slab.copy(body, at, from);
      slabStart = slabEnd;
      if (number % TURN_SLABS === TURN_SLABS - 1) await nextTurn();
    }
    this.release();
    return { ...pooled, rows };
  }

  release(): void {
    this.#slabs.release();
    this.#columns.drop(0);
    this.#cuts = [];
    this.#stages = [];
  }

  #write(item: ContentItem): void {
    const slabs = this.#slabs;
    const rowStart = slabs.length;
    let allHeld = this.#place(item);
    const { escapeFormulas } = this.#options;
    this.#text(item.content);
    const columns = this.#columns.list;
    for (let i = 0; i < columns.length; i++) {
      this.#comma();
      const column = columns[i] as MetadataColumn;
      const { value } = column;
      if (value === undefined) continue;
      column.value = undefined;
      if (typeof value !== 'string') {
        this.#json(value);
        column.held = 'json';
      } else if (this.#text(value)) column.held = 'text';
      else {
        column.held = 'none';
        allHeld = false;
      }
    }
    const cut = slabs.at - slabs.rowStart;
    const { expected } = item;
    let expectedHeld = true;
    if (expected !== undefined) {
      this.#comma();
      // An empty cell means that there is none.
      expectedHeld = this.#text(expected) && expected !== '';
    } else if (this.#expected) this.#comma();
    this.#comma();
    const escapedContent = escapeFormulas && looksLikeFormula(item.content);
    if (
      !(
        allHeld &&
        expectedHeld &&
        !escapedContent &&
        hasNoExtras(item) &&
        this.#plainReference(item)
      )
    ) {
      const carried = {
        ...this.#carried(item),
        expected: expectedHeld ? undefined : expected,
        escapedContent,
      };
      this.#cell(writeReference(item, carried));
    }
    slabs.room(2);
    slabs.buffer[slabs.at++] = CR;
    slabs.buffer[slabs.at++] = LF;

    // Nothing fails from here on.
    slabs.endRow();
    if (expected !== undefined) this.#expected = true;
    const commas = columns.length + (this.#expected ? 1 : 0);
    if (this.#stages.at(-1)?.commas !== commas)
      this.#stages.push({ row: this.#cuts.length, commas });
    this.#cuts.push(rowStart + cut);
  }

  /** Puts the metadata into its columns. @returns whether there is a column for each key */
  #place({ metadata }: ContentItem): boolean {
    let width = 0;
    let allPlaced = true;
    for (const key in metadata) {
      const column = this.#columns.of(key);
      if (column === undefined) allPlaced = false;
      else {
        column.value = metadata[key];
        this.#row[width++] = column;
      }
    }
    this.#rowWidth = width;
    return allPlaced;
  }

  #comma(): void {
    const slabs = this.#slabs;
    slabs.room(1);
    slabs.buffer[slabs.at++] = COMMA;
  }

  /** Writes a text as far as a cell can show it. @returns whether the cell holds exactly this text */
  #text(text: string): boolean {
    const visible = fitsInCell(text) ? text : text.toWellFormed().replaceAll('\0', '\ufffd');
    const shown =
      this.#options.escapeFormulas && looksLikeFormula(text) ? asText(visible) : visible;
    this.#cell(shown);
    return shown === text;
  }

  #json(value: Exclude<JsonValue, string>): void {
    const slabs = this.#slabs;
    if (typeof value === 'object' && value !== null) {
      this.#cell(JSON.stringify(value));
      return;
    }
    slabs.room(NUMBER_ROOM);
    slabs.at =
      typeof value === 'number'
        ? writeNumber(slabs.buffer, value, slabs.at)
        : writeAscii(slabs.buffer, JSON.stringify(value), slabs.at);
  }

  #cell(text: string): void {
    const slabs = this.#slabs;
    slabs.room(cellRoom(text));
    slabs.at = writeCell(slabs.buffer, text, slabs.at);
  }

  /** Writes the reference of a row whose cells hold everything. @returns false, and nothing written, when its key needs escapes */
  #plainReference(item: ContentItem): boolean {
    const slabs = this.#slabs;
    slabs.room(referenceRoom(item, this.#row, this.#rowWidth));
    const end = writePlainReference(slabs.buffer, item, this.#row, this.#rowWidth, slabs.at);
    if (end === -1) return false;
    slabs.at = end;
    return true;
  }

  /** The shape of the row, and the metadata that its cells do not hold. */
  #carried({ metadata }: ContentItem): Pick<Carried, 'shape' | 'metadata'> {
    const shape: string[] = [];
    const carried: [string, string][] = [];
    for (const key in metadata) {
      const column = this.#columns.of(key);
      if (column === undefined || column.held === 'none')
        carried.push([key, JSON.stringify(metadata[key])]);
      else shape.push(column.entry.toString('utf8', column.held === 'text' ? 1 : 0));
    }
    return {
      shape: shape.length === 0 ? undefined : shape.join(','),
      metadata: carried.length === 0 ? undefined : carried,
    };
  }

  #header(): Buffer {
    const { referenceColumn, resultColumn, escapeFormulas } = this.#options;
    const reserved =
      resultColumn === undefined ? [referenceColumn] : [referenceColumn, resultColumn];
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

function hasNoExtras({ replay, headers, outputKey }: ContentItem): boolean {
  return replay === 0 && headers.length === 0 && outputKey === undefined;
}

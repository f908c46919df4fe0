/**
 * Items as rows (DESIGN 5, service-interface.md 2.2): `Content` first, a column per metadata key in order of first
 * appearance, `Expected result` when any item has one, the connector's own column last.
 */
import type { ContentItem } from '../core/record.ts';
import { CONTENT_COLUMN, RESULT_COLUMNS } from '../service/contract.ts';
import { ColumnNames } from './column-names.ts';
import { asText, looksLikeFormula } from './formulas.ts';
import { shapeEntry } from './metadata-shape.ts';
import { fitsInCell, writeReference } from './reference.ts';

export interface ColumnOptions {
  /** Header of the connector's own column. */
  readonly referenceColumn: string;
  /** Header of the result in the files that come back, where it is configured: no metadata column has it. */
  readonly resultColumn?: string | undefined;
  /**
   * Columns for metadata in one file. The keys that come after travel inside the reference: they come back all the
   * same, but a policy does not see them. Keeps a producer that uses ids as keys from multiplying rows by columns.
   */
  readonly maxMetadataColumns: number;
  /** Puts an apostrophe before cells that a spreadsheet would take for a formula. All of them come back as they were. */
  readonly escapeFormulas: boolean;
}

export const DEFAULT_COLUMNS: ColumnOptions = {
  referenceColumn: 'connector_ref',
  maxMetadataColumns: 200,
  escapeFormulas: false,
};

interface MetadataColumn {
  readonly index: number;
  readonly header: string;
  /** What a row's shape says when the cell holds the string itself, and when it holds JSON. */
  readonly asString: string;
  readonly asJson: string;
}

/** The columns of one upload. First `observe` every item, then ask for the header and the rows. */
export class RowLayout {
  readonly #options: ColumnOptions;
  readonly #names: ColumnNames;
  readonly #metadata = new Map<string, MetadataColumn>();
  #expected = false;

  constructor(options: ColumnOptions) {
    this.#options = options;
    const { referenceColumn, resultColumn, escapeFormulas } = options;
    this.#names = new ColumnNames(
      resultColumn === undefined ? [referenceColumn] : [referenceColumn, resultColumn],
      escapeFormulas,
    );
  }

  /** Takes note of the columns that an item needs. */
  observe(item: ContentItem): void {
    if (item.expected !== undefined) this.#expected = true;
    const columns = this.#metadata;
    for (const key in item.metadata) {
      if (columns.has(key) || columns.size >= this.#options.maxMetadataColumns) continue;
      columns.set(key, {
        index: 1 + columns.size,
        header: this.#names.headerFor(key),
        asString: shapeEntry(key, false),
        asJson: shapeEntry(key, true),
      });
    }
  }

  header(): string[] {
    const expected = this.#expected ? [RESULT_COLUMNS.expected] : [];
    const metadata = [...this.#metadata.values()].map(({ header }) => header);
    return [CONTENT_COLUMN, ...metadata, ...expected, this.#options.referenceColumn];
  }

  /** The cells of an observed item. */
  row(item: ContentItem): string[] {
    const columns = this.#metadata;
    const cells: string[] = new Array(columns.size + (this.#expected ? 3 : 2)).fill('');
    const isFormula = this.#options.escapeFormulas ? looksLikeFormula : () => false;
    const escapedContent = isFormula(item.content);
    const content = visible(item.content);
    cells[0] = escapedContent ? asText(content) : content;

    let shape: string | undefined;
    let carried: [string, string][] | undefined;
    for (const key in item.metadata) {
      const value = item.metadata[key];
      const column = columns.get(key);
      const text = typeof value === 'string' ? value : undefined;
      if (column === undefined || (text !== undefined && (!fitsInCell(text) || isFormula(text)))) {
        carried ??= [];
        carried.push([key, JSON.stringify(value)]);
        // What the policy gets to see of it.
        if (column !== undefined && text !== undefined) {
          const seen = visible(text);
          cells[column.index] = isFormula(seen) ? asText(seen) : seen;
        }
        continue;
      }
      const entry = text === undefined ? column.asJson : column.asString;
      shape = shape === undefined ? entry : `${shape},${entry}`;
      cells[column.index] = text ?? (typeof value === 'number' ? String(value) : JSON.stringify(value));
    }

    let expected: string | undefined;
    if (item.expected !== undefined) {
      const escaped = isFormula(item.expected);
      const expectation = visible(item.expected);
      cells[columns.size + 1] = escaped ? asText(expectation) : expectation;
      // An empty cell means that there is none.
      if (item.expected === '' || !fitsInCell(item.expected) || escaped) expected = item.expected;
    }
    cells[cells.length - 1] = writeReference(item, { shape, expected, metadata: carried, escapedContent });
    return cells;
  }
}

/** Text as a cell can hold it: many CSV readers refuse U+0000, and with it the whole file. */
function visible(text: string): string {
  return fitsInCell(text) ? text : text.toWellFormed().replaceAll('\0', '\ufffd');
}

/**
 * Items as rows of cells, written a second time and plainly, and made CSV by csv-stringify: what the bytes of an upload are
 * compared with.
 */
import { stringify } from 'csv-stringify/sync';
import type { ContentItem } from '../../../../src/core/record.ts';
import { asText, looksLikeFormula } from '../../../../src/kinds/review/csv-injection.ts';
import { ColumnNames } from '../../../../src/kinds/review/metadata/column-names.ts';
import type { ColumnOptions } from '../../../../src/kinds/review/metadata/columns.ts';
import { shapeEntry } from '../../../../src/kinds/review/metadata/metadata-shape.ts';
import { fitsInCell } from '../../../../src/kinds/review/reference.ts';
import { CONTENT_COLUMN, RESULT_COLUMNS } from '../../../../src/service/contract.ts';
import { writeReference } from '../../../support/review/plain-reference.ts';

/**
 * Without `quote_record_delimiter`, csv-stringify 6.9 quotes a CR or an LF that stands alone only as long as no record
 * delimiter is given.
 */
const CSV = { record_delimiter: '\r\n', quote_record_delimiter: true } as const;

/** The upload of these items. */
export function plainUpload(items: readonly ContentItem[], columns: ColumnOptions): Buffer {
  const layout = new RowLayout(columns);
  for (const item of items) layout.observe(item);
  return Buffer.from(stringify([layout.header(), ...items.map((item) => layout.row(item))], CSV));
}

interface MetadataColumn {
  readonly index: number;
  readonly header: string;
  /** Shape letters for a cell that holds the string itself and for one that holds JSON. */
  readonly asString: string;
  readonly asJson: string;
}

/** The columns of one upload. First `observe` every item, then ask for the header and the rows. */
class RowLayout {
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
      cells[column.index] =
        text ?? (typeof value === 'number' ? String(value) : JSON.stringify(value));
    }

    let expected: string | undefined;
    if (item.expected !== undefined) {
      const escaped = isFormula(item.expected);
      const expectation = visible(item.expected);
      cells[columns.size + 1] = escaped ? asText(expectation) : expectation;
      // An empty cell means that there is none.
      if (item.expected === '' || !fitsInCell(item.expected) || escaped) expected = item.expected;
    }
    cells[cells.length - 1] = writeReference(item, {
      shape,
      expected,
      metadata: carried,
      escapedContent,
    });
    return cells;
  }
}

/** Text as a cell can hold it: many CSV readers refuse U+0000, and with it the whole file. */
function visible(text: string): string {
  return fitsInCell(text) ? text : text.toWellFormed().replaceAll('\0', '\ufffd');
}

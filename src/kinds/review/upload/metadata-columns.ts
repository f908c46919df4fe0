/** Metadata columns of one upload, in order of first appearance. */
import type { JsonValue } from '../../../core/record.ts';
import { shapeEntry } from '../metadata/metadata-shape.ts';

/** Form of a value in its cell; `none`: the cell cannot hold it, so the reference does. */
type CellForm = 'text' | 'json' | 'none';

export interface MetadataColumn {
  readonly key: string;
  /** Entry of the reference's shape for a JSON cell; for a text cell without the first byte. */
  readonly entry: Buffer;
  /** Value of the row that is being written; undefined: it has none. */
  value: JsonValue | undefined;
  /** Form of the cell in the last row with a value. */
  form: CellForm;
}

/** Memory of a column besides its key and entry, bytes. */
const COLUMN_BYTES = 300;

export class MetadataColumns {
  readonly list: MetadataColumn[] = [];
  readonly #limit: number;
  readonly #byKey = new Map<string, MetadataColumn>();
  #heldBytes = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Memory of the columns, bytes. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** Returns the column of a key, perhaps a new one; undefined if there are too many. */
  of(key: string): MetadataColumn | undefined {
    const known = this.#byKey.get(key);
    if (known !== undefined || this.list.length >= this.#limit) return known;
    const entry = Buffer.from(shapeEntry(key, true));
    const column: MetadataColumn = { key, entry, value: undefined, form: 'text' };
    this.list.push(column);
    this.#byKey.set(key, column);
    this.#heldBytes += bytesOf(column);
    return column;
  }

  /** Reverts an unfinished row: its values, and the columns behind the first `known`. */
  drop(known: number): void {
    for (const column of this.list.splice(known)) {
      this.#byKey.delete(column.key);
      this.#heldBytes -= bytesOf(column);
    }
    for (const column of this.list) column.value = undefined;
  }
}

function bytesOf({ key, entry }: MetadataColumn): number {
  return COLUMN_BYTES + 2 * key.length + entry.length;
}

/** The metadata columns of one upload, in order of first appearance. */
import type { JsonValue } from '../../../core/record.ts';
import { shapeEntry } from '../metadata/metadata-shape.ts';

/** How the cell of a row holds its value; `none`: it does not, and the value travels in the reference. */
export type Held = 'text' | 'json' | 'none';

export interface MetadataColumn {
  readonly key: string;
  /** The entry of the reference's shape for a cell that holds JSON. That for a text is the same without the first byte. */
  readonly entry: Buffer;
  /** The value of the row that is being written; undefined: it has none. */
  value: JsonValue | undefined;
  /** Form of the cell in the last row that had a value. */
  held: Held;
}

/** Memory of a column beside its key, bytes: its objects and the place in the map. */
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

  /** Returns the column of a key, a new one if need be; undefined when there are too many. */
  of(key: string): MetadataColumn | undefined {
    const known = this.#byKey.get(key);
    if (known !== undefined || this.list.length >= this.#limit) return known;
    const column: MetadataColumn = {
      key,
      entry: Buffer.from(shapeEntry(key, true)),
      value: undefined,
      held: 'text',
    };
    this.list.push(column);
    this.#byKey.set(key, column);
    this.#heldBytes += bytesOf(column);
    return column;
  }

  /** Takes back a row that was not finished: its values, and the columns behind the first `known`. */
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

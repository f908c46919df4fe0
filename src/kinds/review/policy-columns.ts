/** Policy columns of one upload, in order of first appearance. */
import type { CompactObject } from '../../../packages/client/src/base/json/compact-object.ts';
import { textOfString } from '../../../packages/client/src/base/json/json-text.ts';
import {
  type ColumnOptions,
  headerFor,
} from '../../../packages/client/src/results/result-header.ts';
import { RESULT_COLUMNS } from '../../../packages/client/src/service/contract.ts';

export interface PolicyColumn {
  readonly header: string;
  /** Metadata key as JSON. Empty for the column of the expected result. */
  readonly name: Buffer;
  /** Last row that has a value for this column, and the index of the metadata member with the value. */
  row: number;
  member: number;
  /** Column that followed this one in an earlier row. It is likely to follow again. */
  next: PolicyColumn | undefined;
}

/** Maximum number of columns in a file. It protects against producers that use ids as keys. */
const MAX_COLUMNS = 200;
/** Memory of a column in bytes, in addition to its strings. */
const COLUMN_BYTES = 300;

export class PolicyColumns {
  readonly list: PolicyColumn[] = [];
  /** Column of the expected result. undefined until a row has an expected result. */
  expected: PolicyColumn | undefined;
  readonly #options: ColumnOptions;
  /** Columns by the bytes of their metadata key. */
  readonly #byName = new Map<string, PolicyColumn>();
  #first: PolicyColumn | undefined;
  #heldBytes = 0;

  constructor(options: ColumnOptions) {
    this.#options = options;
  }

  /** Memory of the columns in bytes. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** Assigns the members of a row to columns, and adds missing columns. @param from buffer with the copied object */
  place(object: CompactObject, from: Buffer, row: number): void {
    if (this.#options.columns?.length === 0) return;
    let likely = this.#first;
    let before: PolicyColumn | undefined;
    for (let member = 0; member < object.members; member++) {
      const start = object.nameStart(member);
      const end = object.nameEnd(member);
      let column = likely;
      if (column === undefined || !isAt(from, start, end, column.name)) {
        column = this.#of(from, start, end);
        if (column === undefined) continue;
        if (before === undefined) this.#first = column;
        else before.next = column;
      }
      column.row = row;
      column.member = member;
      before = column;
      likely = column.next;
    }
  }

  /** Assigns the expected result of a row to its column. */
  placeExpected(row: number): void {
    this.expected ??= this.#add(RESULT_COLUMNS.expected, Buffer.alloc(0));
    this.expected.row = row;
  }

  /** Returns the column of a key, or undefined if it has none. */
  #of(from: Buffer, start: number, end: number): PolicyColumn | undefined {
    const bytes = from.toString('latin1', start, end);
    const known = this.#byName.get(bytes);
    if (known !== undefined || this.list.length >= MAX_COLUMNS) return known;
    const key = textOfString({ bytes: from, start, end, hasEscapes: true });
    const { columns } = this.#options;
    if (columns !== undefined && !columns.includes(key)) return undefined;
    const header = headerFor(key, this.#options);
    if (header === undefined) return undefined;
    const column = this.#add(header, Buffer.from(from.subarray(start, end)));
    this.#byName.set(bytes, column);
    return column;
  }

  #add(header: string, name: Buffer): PolicyColumn {
    const column = { header, name, row: -1, member: -1, next: undefined };
    this.list.push(column);
    this.#heldBytes += COLUMN_BYTES + 2 * header.length + 2 * name.length;
    return column;
  }
}

function isAt(from: Buffer, start: number, end: number, name: Buffer): boolean {
  if (name.length !== end - start) return false;
  for (let i = 0; i < name.length; i++) if (from[start + i] !== name[i]) return false;
  return true;
}

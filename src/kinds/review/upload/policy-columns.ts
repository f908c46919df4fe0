/** Metadata columns of one upload, in order of first appearance. Only policies read them. */
import type { CompactObject } from '../../../base/json/compact-object.ts';
import { textOfString } from '../../../base/json/json-text.ts';
import { headerFor } from '../metadata/column-names.ts';
import type { ColumnOptions } from '../metadata/columns.ts';

export interface PolicyColumn {
  readonly header: string;
  /** Metadata key as JSON. */
  readonly name: Buffer;
  /** Number of the last row that has it, and its member there. */
  row: number;
  member: number;
  /** Column of the next member in a row before, which is likely the next again. */
  next: PolicyColumn | undefined;
}

/** Most columns of a file: for producers that use ids as keys. */
const MAX_COLUMNS = 200;
/** Memory of a column besides its texts, bytes. */
const COLUMN_BYTES = 300;

export class PolicyColumns {
  readonly list: PolicyColumn[] = [];
  readonly #options: ColumnOptions;
  /** By the bytes of the name. */
  readonly #byName = new Map<string, PolicyColumn>();
  #first: PolicyColumn | undefined;
  #heldBytes = 0;

  constructor(options: ColumnOptions) {
    this.#options = options;
  }

  /** Memory of the columns, bytes. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** Assigns the members of a row to their columns, perhaps new ones. @param from has the copy */
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

  /** Drops the columns after the first `known`, of a row that was not finished. */
  drop(known: number): void {
    for (const column of this.list.splice(known)) {
      this.#byName.delete(column.name.toString('latin1'));
      this.#heldBytes -= bytesOf(column);
    }
    this.#first = undefined;
    for (const column of this.list) {
      column.row = -1;
      column.next = undefined;
    }
  }

  /** @returns undefined for a key that has no column */
  #of(from: Buffer, start: number, end: number): PolicyColumn | undefined {
    const bytes = from.toString('latin1', start, end);
    const known = this.#byName.get(bytes);
    if (known !== undefined || this.list.length >= MAX_COLUMNS) return known;
    const key = textOfString({ bytes: from, start, end, hasEscapes: true });
    const { columns } = this.#options;
    if (columns !== undefined && !columns.includes(key)) return undefined;
    const header = headerFor(key, this.#options);
    if (header === undefined) return undefined;
    const name = Buffer.from(from.subarray(start, end));
    const column = { header, name, row: -1, member: -1, next: undefined };
    this.list.push(column);
    this.#byName.set(bytes, column);
    this.#heldBytes += bytesOf(column);
    return column;
  }
}

function bytesOf({ header, name }: PolicyColumn): number {
  return COLUMN_BYTES + 2 * header.length + 2 * name.length;
}

function isAt(from: Buffer, start: number, end: number, name: Buffer): boolean {
  if (name.length !== end - start) return false;
  for (let i = 0; i < name.length; i++) if (from[start + i] !== name[i]) return false;
  return true;
}

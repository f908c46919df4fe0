/** Limits on the result of decoding one value: any producer can write hostile bytes. */
import { MalformedError } from '../../../base/varint-reader.ts';

/** Bytes that do not fit the schema. The message never shows their content (I6). */
export class BrokenBytes extends MalformedError {
  override readonly name = 'BrokenBytes';
}

/** Levels of nesting: JSON.stringify and the readers recurse. */
export const MAX_DEPTH = 500;
/** Items of all arrays and maps of a value: some tens of megabytes, and less than a second. */
export const MAX_ITEMS = 2 ** 20;
/** Items without a byte (nulls, empty records): a count of a billion of them takes five bytes. */
const MAX_EMPTY_ITEMS = 100_000;
/** Members without a byte (nulls, defaults): a list of empty messages is one of large objects. */
const MAX_EMPTY_MEMBERS = 500_000;

export const TOO_MANY_ITEMS = 'its arrays and maps have too many items';

export class ValueLimits {
  #depth = 0;
  #items: number;
  #members: number;

  /** @param length of the value, in bytes */
  constructor(length: number) {
    this.#items = Math.min(length + MAX_EMPTY_ITEMS, MAX_ITEMS);
    this.#members = length + MAX_EMPTY_MEMBERS;
  }

  /** @throws BrokenBytes when the value would have too many */
  countItems(count: number): void {
    this.#items -= count;
    if (!(this.#items >= 0)) throw new BrokenBytes(TOO_MANY_ITEMS);
  }

  /** @throws BrokenBytes when the value would have too many */
  countMembers(count: number): void {
    this.#members -= count;
    if (this.#members < 0)
      throw new BrokenBytes('its objects have far more members than the data has bytes');
  }

  /** Reads one level deeper. @throws BrokenBytes beyond MAX_DEPTH */
  nested<T>(read: () => T): T {
    if (++this.#depth > MAX_DEPTH)
      throw new BrokenBytes(`the data is nested more than ${MAX_DEPTH} levels deep`);
    const value = read();
    this.#depth--;
    return value;
  }
}

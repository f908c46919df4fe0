/** A walk over the bytes of one value, and what its numbers become. */
import { isUtf8 } from 'node:buffer';
import { keepNumber } from '../../../base/exact-json.ts';

/** The bytes are not what the schema says. Messages name what is wrong with the data, never what it holds (I6). */
export class BrokenBytes extends Error {
  override readonly name = 'BrokenBytes';
}

/** Nesting beyond which a value is refused: JSON.stringify and the readers recurse. */
const MAX_DEPTH = 500;
/** Items of arrays and maps in the whole value, and repeated fields: so many take some tens of megabytes, and less than a second. */
const MAX_ITEMS = 2 ** 20;
/** Items that take no byte (nulls, empty records), in the whole value: a count of a billion of them costs five bytes. */
const MAX_EMPTY_ITEMS = 100_000;
/** Members that take no byte (nulls, defaults, empty records) beyond one for each byte: a list of empty messages is a list of large objects. */
const MAX_EMPTY_MEMBERS = 500_000;
/** How often the bytes may be gone over again, to find the end of a group or to join a message that comes in parts, level by level; and bytes beyond that. */
const MAX_PASSES = 16;
const MAX_BYTES_AGAIN = 64 * 1024;

export class ByteReader {
  bytes: Buffer;
  /** Whether numbers that a double would change are kept as their text. */
  readonly exact: boolean;
  position: number;
  /** Where the part that is being read ends. */
  end: number;
  /** Whether a number was met that a double changes. */
  lossy = false;
  #depth = 0;
  #items: number;
  #emptyMembers: number;
  #bytesAgain: number;

  constructor(bytes: Buffer, start: number, exact: boolean) {
    this.bytes = bytes;
    this.position = start;
    this.end = bytes.length;
    this.exact = exact;
    this.#items = Math.min(bytes.length + MAX_EMPTY_ITEMS, MAX_ITEMS);
    this.#emptyMembers = bytes.length + MAX_EMPTY_MEMBERS;
    this.#bytesAgain = MAX_PASSES * bytes.length + MAX_BYTES_AGAIN;
  }

  get remaining(): number {
    return this.end - this.position;
  }

  /** Moves on by `length` bytes. @returns where they begin */
  take(length: number): number {
    const start = this.position;
    if (!(length >= 0 && length <= this.end - start))
      throw new BrokenBytes('the data ends too early');
    this.position = start + length;
    return start;
  }

  byte(): number {
    return this.bytes[this.take(1)] as number;
  }

  text(length: number): string {
    const start = this.take(length);
    const text = this.bytes.toString('utf8', start, start + length);
    // Bytes that are no UTF-8 come out as U+FFFD, which may also be written out in full.
    if (text.includes('\uFFFD') && !isUtf8(this.bytes.subarray(start, start + length))) {
      throw new BrokenBytes('a text is not UTF-8');
    }
    return text;
  }

  base64(length: number): string {
    const start = this.take(length);
    return this.bytes.toString('base64', start, start + length);
  }

  part(length: number): Buffer {
    const start = this.take(length);
    return this.bytes.subarray(start, start + length);
  }

  /** Reads the whole of another part, and goes on here after it. */
  inside<T>(part: Buffer, read: (bytes: ByteReader) => T): T {
    const { bytes, position, end } = this;
    this.bytes = part;
    this.position = 0;
    this.end = part.length;
    this.enter();
    const value = read(this);
    if (this.remaining > 0) throw new BrokenBytes('bytes are left over');
    this.leave();
    this.bytes = bytes;
    this.position = position;
    this.end = end;
    return value;
  }

  /** Before the items of an array, a map or a repeated field. */
  countItems(count: number): void {
    this.#items -= count;
    if (!(this.#items >= 0)) throw new BrokenBytes('its arrays and maps have too many items');
  }

  /** Of an object: `members` that took `length` bytes together. */
  countMembers(members: number, length: number): void {
    if (members <= length) return;
    this.#emptyMembers -= members - length;
    if (this.#emptyMembers < 0)
      throw new BrokenBytes('its objects have far more members than the data has bytes');
  }

  /** Bytes that were gone over, and will be once more. */
  countAgain(length: number): void {
    this.#bytesAgain -= length;
    if (this.#bytesAgain < 0)
      throw new BrokenBytes('groups, or messages that come in parts, are nested too deeply');
  }

  /** The parts of one message. */
  joined(parts: readonly Buffer[]): Buffer {
    if (parts.length === 1) return parts[0] as Buffer;
    const whole = Buffer.concat(parts);
    this.countAgain(whole.length);
    return whole;
  }

  /** Around everything that may hold itself. */
  enter(): void {
    if (++this.#depth > MAX_DEPTH)
      throw new BrokenBytes(`the data is nested more than ${MAX_DEPTH} levels deep`);
  }

  leave(): void {
    this.#depth--;
  }

  /** An unsigned varint of up to 64 bits: exact, as a number while that is possible. */
  varint(): number | bigint {
    // Most are one byte: lengths, tags, branches.
    const first = this.position < this.end ? (this.bytes[this.position] as number) : 0x80;
    if (first < 0x80) {
      this.position++;
      return first;
    }
    let value = 0;
    // 49 bits fit a double with room for the sign.
    for (let shift = 1; shift <= 2 ** 42; shift *= 128) {
      const byte = this.byte();
      value += (byte & 0x7f) * shift;
      if (byte < 0x80) return value;
    }
    let long = BigInt(value);
    for (let bits = 49n; bits < 64n; bits += 7n) {
      const byte = this.byte();
      long += BigInt(byte & 0x7f) << bits;
      if (byte < 0x80) {
        if (long >> 64n !== 0n) break;
        return long;
      }
    }
    throw new BrokenBytes('an integer has more than 64 bits');
  }

  /** A zigzag varint of up to 64 bits. */
  zigzag(): number | bigint {
    const raw = this.varint();
    if (typeof raw === 'number') return raw % 2 === 0 ? raw / 2 : -(raw + 1) / 2;
    const value = (raw >> 1n) ^ -(raw & 1n);
    return isSafe(value) ? Number(value) : value;
  }

  /** What an integer is in JSON. */
  integer(value: number | bigint): unknown {
    if (typeof value === 'number') return value;
    return isSafe(value) ? Number(value) : this.number(value.toString());
  }

  /** What a number is in JSON whose digits are all meant. @param text as JSON writes it */
  number(text: string): unknown {
    const value = Number(text);
    if (String(value) === text) return value;
    this.lossy = true;
    return this.exact ? keepNumber(text) : value;
  }

  /** JSON has no NaN and no infinities: they become texts, as in Protobuf's JSON. */
  double(value: number): unknown {
    if (value === 0 && Object.is(value, -0)) {
      this.lossy = true;
      return this.exact ? keepNumber('-0.0') : value;
    }
    return Number.isFinite(value) ? value : String(value);
  }

  /** The shortest number that is this float and no other: 0.1, not 0.10000000149011612. */
  float(value: number): unknown {
    if (!Number.isFinite(value) || (Number.isInteger(value) && Math.abs(value) < 2 ** 24))
      return this.double(value);
    for (let digits = 1; digits < 9; digits++) {
      const short = Number(value.toPrecision(digits));
      if (Math.fround(short) === value) return short;
    }
    return Number(value.toPrecision(9));
  }
}

function isSafe(value: bigint): boolean {
  return value >= -9_007_199_254_740_991n && value <= 9_007_199_254_740_991n;
}

/** Sets a member whatever its name: `__proto__` would otherwise become what the object inherits from. */
export function setMember(target: Record<string, unknown>, name: string, value: unknown): void {
  if (name !== '__proto__') target[name] = value;
  else
    Object.defineProperty(target, name, {
      value,
      writable: true,
      enumerable: true,
      configurable: true,
    });
}

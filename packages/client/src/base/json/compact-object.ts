/**
 * Compact copy of a JSON object. It has no whitespace. Strings are as `JSON.stringify` writes them,
 * numbers as in the original. If a name occurs several times, only its last member is kept.
 */

/** Number of offsets per member: start and end of its name, and of its value. Quotes are included. */
const PLACES = 4;
/** Maximum number of names to compare one by one. Objects with more members use a map. */
const FEW_NAMES = 16;

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPENING = 0x5b;
const BACKSLASH = 0x5c;
const CLOSING = 0x5d;
const OPENING_OBJECT = 0x7b;
const CLOSING_OBJECT = 0x7d;

export class CompactObject {
  /** Number of members of the outermost object. */
  members = 0;
  /** Offsets of the members of all open objects, starting with the outermost. */
  #places = new Int32Array(64 * PLACES);
  /** Members in the copy that a later member with the same name replaces, as pairs of start and end offsets. */
  #superseded: [start: number, end: number][] = [];
  #from: Buffer = Buffer.alloc(0);
  #to: Buffer = Buffer.alloc(0);
  /** Offset of the next byte to read. */
  #at = 0;
  #out = 0;

  /**
   * Copies an object. The copy is never longer than the original.
   * @param from valid JSON of a bounded depth, as a scan guarantees
   * @param start offset of its opening brace
   * @returns the offset of the next byte
   */
  copy(from: Buffer, start: number, to: Buffer, at: number): number {
    this.#from = from;
    this.#to = to;
    this.#at = start;
    this.#out = at;
    this.#superseded = [];
    this.#object(0);
    if (this.#superseded.length === 0) return this.#out;
    // The first copy leaves only unique names, so the second one removes nothing.
    this.#cut();
    return this.copy(to, at, to, at);
  }

  nameStart(member: number): number {
    return this.#places[member * PLACES] as number;
  }

  nameEnd(member: number): number {
    return this.#places[member * PLACES + 1] as number;
  }

  valueStart(member: number): number {
    return this.#places[member * PLACES + 2] as number;
  }

  valueEnd(member: number): number {
    return this.#places[member * PLACES + 3] as number;
  }

  /** @param first index of the object's first member */
  #object(first: number): void {
    let next = first;
    let byName: Map<string, number> | undefined;
    this.#mark(OPENING_OBJECT);
    while (this.#skipBlanks() !== CLOSING_OBJECT) {
      if (next > first) {
        this.#mark(COMMA);
        this.#skipBlanks();
      }
      if ((next + 1) * PLACES > this.#places.length) this.#grow();
      const nameStart = this.#out;
      this.#string();
      const nameEnd = this.#out;
      if (next - first === FEW_NAMES) byName = this.#mapOf(first, next);
      const before =
        byName === undefined
          ? this.#find(first, next, nameStart, nameEnd)
          : byName.get(this.#to.toString('latin1', nameStart, nameEnd));
      byName?.set(this.#to.toString('latin1', nameStart, nameEnd), next);
      // The comma after the replaced member is removed too.
      if (before !== undefined)
        this.#superseded.push([this.nameStart(before), this.valueEnd(before) + 1]);
      this.#skipBlanks();
      this.#mark(COLON);
      this.#skipBlanks();
      const at = next * PLACES;
      this.#places[at] = nameStart;
      this.#places[at + 1] = nameEnd;
      this.#places[at + 2] = this.#out;
      this.#value(next + 1);
      this.#places[at + 3] = this.#out;
      next++;
    }
    this.#mark(CLOSING_OBJECT);
    if (first === 0) this.members = next;
  }

  /** @param free index of the first unused member */
  #value(free: number): void {
    const byte = this.#from[this.#at];
    if (byte === QUOTE) this.#string();
    else if (byte === OPENING_OBJECT) this.#object(free);
    else if (byte === OPENING) this.#array(free);
    else this.#scalar();
  }

  #array(free: number): void {
    this.#mark(OPENING);
    for (let byte = this.#skipBlanks(); byte !== CLOSING; byte = this.#skipBlanks()) {
      if (byte === COMMA) {
        this.#mark(COMMA);
        this.#skipBlanks();
      }
      this.#value(free);
    }
    this.#mark(CLOSING);
  }

  #string(): void {
    const from = this.#from;
    const to = this.#to;
    const start = this.#at;
    let at = start;
    let out = this.#out;
    to[out++] = QUOTE;
    let byte = from[++at] as number;
    while (byte !== QUOTE && byte !== BACKSLASH) {
      to[out++] = byte;
      byte = from[++at] as number;
    }
    if (byte === QUOTE) {
      to[out++] = QUOTE;
      this.#at = at + 1;
      this.#out = out;
      return;
    }
    while (byte !== QUOTE) {
      if (byte === BACKSLASH) at++;
      byte = from[++at] as number;
    }
    this.#at = at + 1;
    // V8 misreads only escaped names (parse-json.ts), never string values.
    const text = JSON.parse(from.toString('utf8', start, this.#at)) as string;
    this.#out += to.write(JSON.stringify(text), this.#out);
  }

  /** Copies a number, true, false or null. */
  #scalar(): void {
    const from = this.#from;
    const to = this.#to;
    let at = this.#at;
    let out = this.#out;
    for (let byte = from[at] as number; isPartOfScalar(byte); byte = from[++at] as number)
      to[out++] = byte;
    this.#at = at;
    this.#out = out;
  }

  #mark(mark: number): void {
    this.#at++;
    this.#to[this.#out++] = mark;
  }

  /** @returns the first byte after whitespace */
  #skipBlanks(): number {
    let byte = this.#from[this.#at] as number;
    while (byte <= 0x20) byte = this.#from[++this.#at] as number;
    return byte;
  }

  /** @returns the index of the member that has the name just copied */
  #find(first: number, next: number, nameStart: number, nameEnd: number): number | undefined {
    const to = this.#to;
    for (let member = first; member < next; member++) {
      let at = this.nameStart(member);
      if (this.nameEnd(member) - at !== nameEnd - nameStart) continue;
      let name = nameStart;
      while (name < nameEnd && to[at] === to[name]) {
        at++;
        name++;
      }
      if (name === nameEnd) return member;
    }
    return undefined;
  }

  #mapOf(first: number, next: number): Map<string, number> {
    const byName = new Map<string, number>();
    for (let member = first; member < next; member++)
      byName.set(this.#to.toString('latin1', this.nameStart(member), this.nameEnd(member)), member);
    return byName;
  }

  #grow(): void {
    const longer = new Int32Array(this.#places.length * 2);
    longer.set(this.#places);
    this.#places = longer;
  }

  /** Removes the replaced members from the copy. */
  #cut(): void {
    const to = this.#to;
    this.#superseded.sort(([a], [b]) => a - b);
    let out = this.#superseded[0]?.[0] ?? 0;
    let from = out;
    for (const [start, end] of this.#superseded) {
      // Skips members inside a replaced one, which are removed with it.
      if (start > from) {
        to.copyWithin(out, from, start);
        out += start - from;
      }
      from = Math.max(from, end);
    }
    to.copyWithin(out, from, this.#out);
  }
}

/** True for the bytes of numbers, true, false and null. */
function isPartOfScalar(byte: number): boolean {
  return byte > 0x20 && byte !== COMMA && byte !== CLOSING && byte !== CLOSING_OBJECT;
}

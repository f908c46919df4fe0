/**
 * Strict scanner of JSON bytes. It accepts exactly the texts that `JSON.parse` accepts, up to
 * `MAX_LEVELS` levels of nesting, and records the positions of the values at given paths. It
 * allocates no objects, so hostile JSON costs no memory.
 */
import { isUtf8 } from 'node:buffer';

/** Maximum number of nested arrays and objects. */
export const MAX_LEVELS = 1_000;

/** Type of a value. `MISSING` if there is no value at the path. */
export const MISSING = 0;
export const STRING = 1;
export const NUMBER = 2;
export const LITERAL = 3;
export const OBJECT = 4;
export const ARRAY = 5;

/** Reason why a text cannot be scanned. */
export type ScanFault = 'syntax' | 'utf8' | 'depth';

/** Value at a path of the last scanned text. Valid until the next scan. */
export interface ScannedValue {
  readonly type: number;
  readonly bytes: Buffer;
  /** Offsets in the scanned bytes. They include the quotes of a string. */
  readonly start: number;
  readonly end: number;
  /** True if a string or a member name in the value has a backslash. */
  readonly hasEscapes: boolean;
  /** Number of nested arrays and objects, including the value itself. 0 for a scalar. */
  readonly levels: number;
  /** Number of direct members or elements. */
  readonly members: number;
  /** Number of members and elements at all levels. */
  readonly values: number;
}

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** Node in the tree of the paths. */
interface Step {
  readonly names: Buffer[];
  readonly children: Step[];
  readonly value: Writable<ScannedValue> | undefined;
  /** Values at this step and at the steps below it. */
  readonly below: Writable<ScannedValue>[];
}

const QUOTE = 0x22;
export const COMMA = 0x2c;
const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
export const COLON = 0x3a;
export const OPENING = 0x5b;
const BACKSLASH = 0x5c;
export const CLOSING = 0x5d;
const LOWER_E = 0x65;
const LOWER_F = 0x66;
const LOWER_N = 0x6e;
const LOWER_T = 0x74;
const LOWER_U = 0x75;
export const OPENING_OBJECT = 0x7b;
export const CLOSING_OBJECT = 0x7d;

/** Classes of bytes in a string: plain (0), not ASCII (HIGH), or ending a run of plain bytes (STOP). */
const STOP = 2;
const HIGH = 1;
const CLASSES = new Uint8Array(256);
CLASSES.fill(HIGH, 0x80);
CLASSES.fill(STOP, 0, 0x20);
CLASSES[QUOTE] = STOP;
CLASSES[BACKSLASH] = STOP;

/** Bytes that may follow a backslash, except `u`. */
const ESCAPED = new Uint8Array(256);
for (const byte of Buffer.from('"\\/bfnrt')) ESCAPED[byte] = 1;
const HEX = new Uint8Array(256);
for (const byte of Buffer.from('0123456789abcdefABCDEF')) HEX[byte] = 1;

const TRUE = Buffer.from('true');
const FALSE = Buffer.from('false');
const NULL = Buffer.from('null');

export class JsonScanner {
  /** Values at the paths, in the order of the paths. */
  readonly values: readonly ScannedValue[];
  readonly #root: Step;
  /** For each open level: whether it is an object, its step, its deepest level, and its number of members. */
  readonly #isObject = new Uint8Array(MAX_LEVELS + 1);
  readonly #steps: (Step | undefined)[] = [];
  readonly #deepest = new Uint16Array(MAX_LEVELS + 1);
  readonly #members = new Float64Array(MAX_LEVELS + 1);
  /** For each open level: numbers of values and of escaped strings that were counted before it began. */
  readonly #valuesBefore = new Float64Array(MAX_LEVELS + 1);
  readonly #escapesBefore = new Float64Array(MAX_LEVELS + 1);
  #bytes: Buffer = NULL;
  #at = 0;
  #end = 0;
  #escapes = 0;
  #isAscii = true;
  #hasOddNumbers = false;
  #hasEscapedNames = false;

  /** @param paths lists of the member names that lead to a value; an empty path is the whole text */
  constructor(paths: readonly (readonly string[])[]) {
    this.#root = { names: [], children: [], value: undefined, below: [] };
    this.values = paths.map((path) => this.#add(path));
  }

  /** Scans a text. @returns why it cannot be scanned, or undefined if it can */
  scan(bytes: Buffer, start = 0, end = bytes.length): ScanFault | undefined {
    this.#bytes = bytes;
    this.#at = start;
    this.#end = end;
    this.#escapes = 0;
    this.#isAscii = true;
    this.#hasOddNumbers = false;
    this.#hasEscapedNames = false;
    reset(this.#root.below);
    const fault = this.#text();
    // Invalid UTF-8 may end a string early or late, so it often appears as a syntax error first.
    if ((fault === 'syntax' || !this.#isAscii) && !isUtf8(bytes.subarray(start, end)))
      return 'utf8';
    return fault;
  }

  /** True if JavaScript would write a number in the text differently. */
  get hasOddNumbers(): boolean {
    return this.#hasOddNumbers;
  }

  /** True if a name in the text has a backslash, which `JSON.parse` may misread (parse-json.ts). */
  get hasEscapedNames(): boolean {
    return this.#hasEscapedNames;
  }

  #add(path: readonly string[]): ScannedValue {
    const value: Writable<ScannedValue> = {
      type: MISSING,
      bytes: NULL,
      start: 0,
      end: 0,
      hasEscapes: false,
      levels: 0,
      members: 0,
      values: 0,
    };
    let step = this.#root;
    step.below.push(value);
    for (const name of path) {
      const bytes = Buffer.from(name);
      let index = step.names.findIndex((known) => known.equals(bytes));
      if (index === -1) {
        index = step.names.push(bytes) - 1;
        step.children.push({ names: [], children: [], value: undefined, below: [] });
      }
      step = step.children[index] as Step;
      step.below.push(value);
    }
    if (step.value !== undefined) throw new RangeError('a path is listed twice');
    (step as Writable<Step>).value = value;
    return value;
  }

  #text(): ScanFault | undefined {
    const bytes = this.#bytes;
    const end = this.#end;
    let level = 0;
    let count = 0;
    let step: Step | undefined = this.#root;
    for (;;) {
      // A value begins.
      this.#skipBlanks();
      if (this.#at >= end) return 'syntax';
      const start = this.#at;
      const byte = bytes[start] as number;
      const value: Writable<ScannedValue> | undefined = step?.value;
      if (byte === OPENING_OBJECT || byte === OPENING) {
        if (level === MAX_LEVELS) return 'depth';
        level++;
        const isObject = byte === OPENING_OBJECT;
        this.#isObject[level] = isObject ? 1 : 0;
        this.#steps[level] = step;
        this.#deepest[level] = level;
        this.#members[level] = 0;
        this.#valuesBefore[level] = count;
        this.#escapesBefore[level] = this.#escapes;
        if (value !== undefined) {
          value.bytes = bytes;
          value.start = start;
        }
        this.#at++;
        this.#skipBlanks();
        if (this.#at >= end) return 'syntax';
        if (bytes[this.#at] !== (isObject ? CLOSING_OBJECT : CLOSING)) {
          this.#members[level] = 1;
          count++;
          if (isObject) {
            step = this.#key(step);
            if (this.#at < 0) return 'syntax';
          } else step = undefined;
          continue;
        }
      } else {
        let type = LITERAL;
        let hasEscapes = false;
        if (byte === QUOTE) {
          type = STRING;
          const before = this.#escapes;
          this.#string();
          hasEscapes = this.#escapes !== before;
        } else if (byte === MINUS || (byte >= ZERO && byte <= NINE)) {
          type = NUMBER;
          this.#number();
        } else if (byte === LOWER_T) this.#literal(TRUE);
        else if (byte === LOWER_F) this.#literal(FALSE);
        else if (byte === LOWER_N) this.#literal(NULL);
        else return 'syntax';
        if (this.#at < 0) return 'syntax';
        if (value !== undefined) {
          value.type = type;
          value.bytes = bytes;
          value.start = start;
          value.end = this.#at;
          value.hasEscapes = hasEscapes;
          value.levels = 0;
          value.members = 0;
          value.values = 0;
        }
      }
      // A value has ended, or an empty array or object is about to end.
      for (;;) {
        if (level === 0) {
          this.#skipBlanks();
          return this.#at === end ? undefined : 'syntax';
        }
        this.#skipBlanks();
        if (this.#at >= end) return 'syntax';
        const mark = bytes[this.#at] as number;
        const isObject = this.#isObject[level] === 1;
        if (mark === COMMA && (this.#members[level] as number) > 0) {
          this.#at++;
          this.#members[level] = (this.#members[level] as number) + 1;
          count++;
          if (isObject) {
            step = this.#key(this.#steps[level]);
            if (this.#at < 0) return 'syntax';
          } else step = undefined;
          break;
        }
        if (mark !== (isObject ? CLOSING_OBJECT : CLOSING)) return 'syntax';
        this.#at++;
        const closed = this.#steps[level]?.value;
        const deepest = this.#deepest[level] as number;
        if (closed !== undefined) {
          closed.type = isObject ? OBJECT : ARRAY;
          closed.end = this.#at;
          closed.hasEscapes = this.#escapes !== this.#escapesBefore[level];
          closed.levels = deepest - level + 1;
          closed.members = this.#members[level] as number;
          closed.values = count - (this.#valuesBefore[level] as number);
        }
        level--;
        if (deepest > (this.#deepest[level] as number)) this.#deepest[level] = deepest;
      }
    }
  }

  #skipBlanks(): void {
    const bytes = this.#bytes;
    const end = this.#end;
    let at = this.#at;
    while (at < end) {
      const byte = bytes[at] as number;
      if (byte > 0x20 || (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09)) break;
      at++;
    }
    this.#at = at;
  }

  /** Reads a name and its colon. @returns the step of its value. `#at` is negative if name or colon is missing */
  #key(step: Step | undefined): Step | undefined {
    this.#skipBlanks();
    const start = this.#at;
    if (start >= this.#end || this.#bytes[start] !== QUOTE) {
      this.#at = -1;
      return undefined;
    }
    const before = this.#escapes;
    this.#string();
    const end = this.#at;
    if (end < 0) return undefined;
    this.#skipBlanks();
    if (this.#at >= this.#end || this.#bytes[this.#at] !== COLON) {
      this.#at = -1;
      return undefined;
    }
    this.#at++;
    const isEscaped = this.#escapes !== before;
    if (isEscaped) this.#hasEscapedNames = true;
    if (step === undefined || step.names.length === 0) return undefined;
    const child = isEscaped
      ? childOfText(step, this.#bytes.toString('utf8', start, end))
      : childOf(step, this.#bytes, start + 1, end - 1);
    // If a name occurs several times, its last member is used.
    if (child !== undefined) reset(child.below);
    return child;
  }

  /** Skips the string at the current offset. Sets `#at` to a negative offset if the string does not end. */
  #string(): void {
    const bytes = this.#bytes;
    const end = this.#end;
    let at = this.#at + 1;
    let seen = 0;
    for (;;) {
      let byte = 0;
      while (at < end) {
        byte = bytes[at] as number;
        const kind = CLASSES[byte] as number;
        if (kind === STOP) break;
        seen |= kind;
        at++;
      }
      if (at >= end) break;
      if (byte === QUOTE) {
        if (seen !== 0) this.#isAscii = false;
        this.#at = at + 1;
        return;
      }
      if (byte !== BACKSLASH || at + 1 >= end) break;
      this.#escapes++;
      byte = bytes[at + 1] as number;
      if (ESCAPED[byte] === 1) at += 2;
      else if (byte === LOWER_U && at + 5 < end && isHex(bytes, at + 2)) at += 6;
      else break;
    }
    this.#at = -1;
  }

  #number(): void {
    const bytes = this.#bytes;
    const start = this.#at;
    let at = start;
    if (bytes[at] === MINUS) at++;
    const isSmall = bytes[at] === ZERO;
    if (at < this.#end && isSmall) at++;
    else at = this.#digits(at);
    const whole = at;
    if (at > 0 && at < this.#end && bytes[at] === POINT) at = this.#digits(at + 1);
    const fraction = at;
    if (at > 0 && at < this.#end && ((bytes[at] as number) | 0x20) === LOWER_E) {
      const sign = at + 1 < this.#end ? bytes[at + 1] : 0;
      at = this.#digits(sign === MINUS || sign === 0x2b ? at + 2 : at + 1);
    }
    this.#at = at;
    // A double keeps at least 15 digits. From 0.000001 on, it is printed without an exponent.
    const isOdd =
      at !== fraction ||
      at - start > 15 ||
      (isSmall && at - start > 8 && bytes[whole + 1] === ZERO && bytes[whole + 2] === ZERO) ||
      (at === whole ? isSmall && at - start > 1 : bytes[at - 1] === ZERO);
    if (isOdd) this.#hasOddNumbers = true;
  }

  /** @returns the offset after the digits, or a negative offset if there is no digit */
  #digits(start: number): number {
    const bytes = this.#bytes;
    let at = start;
    while (at < this.#end && (bytes[at] as number) >= ZERO && (bytes[at] as number) <= NINE) at++;
    return at > start ? at : -1;
  }

  #literal(word: Buffer): void {
    const end = this.#at + word.length;
    this.#at = end <= this.#end && isAt(this.#bytes, this.#at, word) ? end : -1;
  }
}

function reset(values: readonly Writable<ScannedValue>[]): void {
  for (let i = 0; i < values.length; i++) (values[i] as Writable<ScannedValue>).type = MISSING;
}

function childOf(step: Step, bytes: Buffer, start: number, end: number): Step | undefined {
  const { names } = step;
  for (let i = 0; i < names.length; i++) {
    const name = names[i] as Buffer;
    if (name.length === end - start && isAt(bytes, start, name)) return step.children[i];
  }
  return undefined;
}

/** @param text member name in JSON syntax, with escapes */
function childOfText(step: Step, text: string): Step | undefined {
  const name = Buffer.from(JSON.parse(text) as string);
  return childOf(step, name, 0, name.length);
}

/** Returns true if the bytes of `wanted` are at this offset. */
function isAt(bytes: Buffer, start: number, wanted: Buffer): boolean {
  for (let i = 0; i < wanted.length; i++) if (bytes[start + i] !== wanted[i]) return false;
  return true;
}

function isHex(bytes: Buffer, start: number): boolean {
  for (let at = start; at < start + 4; at++) if (HEX[bytes[at] as number] !== 1) return false;
  return true;
}

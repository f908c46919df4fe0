/**
 * Parsers of untrusted JSON.
 *
 * V8 can confuse an escaped name with another if an earlier object had a name with a backslash
 * (https://github.com/nodejs/node/issues/63785): after `{"a":1,"\\u00":2}`, `JSON.parse` reads
 * `{"a":1,"\u00e9tat":2}` as if its second name were `\u00`. String values are not affected. So
 * texts with escaped names are parsed here, with each name decoded like a string value.
 */
import { keepNumber } from './json-text.ts';
import { setMember } from './json-values.ts';
import { JsonScanner, MAX_LEVELS } from './scanner.ts';

/** Maximum number of members and elements. Their objects need some tens of megabytes. */
export const MAX_VALUES: number = 2 ** 18;

/**
 * `JSON.parse` for untrusted text.
 * @throws SyntaxError if the text is not JSON, is nested deeper than `MAX_LEVELS`, or has more
 * values than `MAX_VALUES`. The message quotes nothing of the text
 */
export function parseJson(text: string): unknown {
  return parse(text, false);
}

/**
 * Parses like `parseJson`, but keeps the text (`JSON.rawJSON`) of numbers that JavaScript would
 * write differently, such as 12345678901234567890 or 1.50.
 * @throws SyntaxError like `parseJson`
 */
export function parseKeepingDigits(text: string): unknown {
  return parse(text, true);
}

const scanner = new JsonScanner([[]]);

function parse(text: string, keepsDigits: boolean): unknown {
  const fault = scanner.scan(Buffer.from(text));
  if (fault === 'depth') throw new SyntaxError(TOO_DEEP);
  // For any other fault, the parser below finds its position.
  if (fault !== undefined) return new JsonParser(text, keepsDigits).document();
  const [{ values = 0 } = {}] = scanner.values;
  if (values > MAX_VALUES) throw new SyntaxError('JSON has too many values');
  return scanner.hasEscapedNames || (keepsDigits && scanner.hasOddNumbers)
    ? new JsonParser(text, keepsDigits).document()
    : JSON.parse(text);
}

const TOO_DEEP = 'JSON is nested too deeply';
const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPENING = 0x5b;
const CLOSING = 0x5d;
const OPENING_OBJECT = 0x7b;
const CLOSING_OBJECT = 0x7d;

class JsonParser {
  readonly #text: string;
  readonly #keepsDigits: boolean;
  #at = 0;
  #level = 0;
  /** Offset of the next backslash, or the length of the text if there is none. */
  #backslash = -1;

  constructor(text: string, keepsDigits: boolean) {
    this.#text = text;
    this.#keepsDigits = keepsDigits;
  }

  document(): unknown {
    const value = this.#value();
    this.#skipBlanks();
    if (this.#at < this.#text.length) throw this.#error();
    return value;
  }

  #value(): unknown {
    switch (this.#skipBlanks()) {
      case OPENING_OBJECT:
        return this.#object();
      case OPENING:
        return this.#array();
      case QUOTE:
        return this.#string();
      default:
        return this.#scalar();
    }
  }

  #object(): object {
    const object = {};
    this.#open();
    if (this.#isNext(CLOSING_OBJECT)) return this.#close(object);
    do {
      if (this.#skipBlanks() !== QUOTE) throw this.#error();
      const name = this.#string();
      if (!this.#isNext(COLON)) throw this.#error();
      setMember(object, name, this.#value());
    } while (this.#isNext(COMMA));
    if (!this.#isNext(CLOSING_OBJECT)) throw this.#error();
    return this.#close(object);
  }

  #array(): unknown[] {
    const items: unknown[] = [];
    this.#open();
    if (this.#isNext(CLOSING)) return this.#close(items);
    do items.push(this.#value());
    while (this.#isNext(COMMA));
    if (!this.#isNext(CLOSING)) throw this.#error();
    // An array that has grown has room for at least 16 elements. A copy has no spare room.
    return this.#close(items.slice());
  }

  #string(): string {
    const text = this.#text;
    const start = this.#at;
    let end = text.indexOf('"', start + 1);
    while (end > this.#backslash) {
      const next = text.indexOf('\\', Math.max(this.#backslash, start));
      this.#backslash = next === -1 ? text.length : next;
      if (end < this.#backslash) break;
      // The character after a backslash cannot end the string.
      this.#backslash += 2;
      if (end < this.#backslash) end = text.indexOf('"', this.#backslash);
    }
    if (end === -1) throw this.#error();
    const string = this.#scalarOf(text.slice(start, end + 1)) as string;
    this.#at = end + 1;
    return string;
  }

  #scalar(): unknown {
    const start = this.#at;
    while (isPartOfScalar(this.#text.charCodeAt(this.#at))) this.#at++;
    const text = this.#text.slice(start, this.#at);
    const value = this.#scalarOf(text);
    return this.#keepsDigits && typeof value === 'number' && String(value) !== text
      ? keepNumber(text)
      : value;
  }

  #scalarOf(text: string): unknown {
    try {
      return JSON.parse(text);
    } catch {
      throw this.#error();
    }
  }

  #open(): void {
    if (++this.#level > MAX_LEVELS) throw new SyntaxError(TOO_DEEP);
    this.#at++;
  }

  #close<T>(value: T): T {
    this.#level--;
    return value;
  }

  /** Skips whitespace, and then `mark` if that is next. Returns true if it was. */
  #isNext(mark: number): boolean {
    if (this.#skipBlanks() !== mark) return false;
    this.#at++;
    return true;
  }

  /** @returns the first code unit after whitespace, or NaN at the end */
  #skipBlanks(): number {
    let unit = this.#text.charCodeAt(this.#at);
    while (unit === 0x20 || unit === 0x0a || unit === 0x0d || unit === 0x09)
      unit = this.#text.charCodeAt(++this.#at);
    return unit;
  }

  /** Returns an error that quotes nothing of the text (I6). */
  #error(): SyntaxError {
    return new SyntaxError(`unexpected token in JSON at position ${this.#at}`);
  }
}

/** Code units of numbers, true, false and null. */
function isPartOfScalar(unit: number): boolean {
  return (
    (unit >= 0x30 && unit <= 0x39) ||
    (unit >= 0x61 && unit <= 0x7a) ||
    unit === 0x45 ||
    (unit >= 0x2b && unit <= 0x2e && unit !== COMMA)
  );
}

/** Returns true for the text of a JSON array or object. */
export function isJsonContainer(text: string): boolean {
  return /^\s*[[{]/.test(text) && new JsonScanner([]).scan(Buffer.from(text)) === undefined;
}

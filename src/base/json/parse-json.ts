/**
 * Parsers of foreign JSON.
 *
 * V8 takes an escaped name for another one when an object before it had a name with a backslash
 * (https://github.com/nodejs/node/issues/63785): after `{"a":1,"\\u00":2}`, `JSON.parse` reads
 * `{"a":1,"\u00e9tat":2}` as if its second name were `\u00`. A string that is a value is always
 * read as it is written. So a text with a backslash is parsed here, and its names as values.
 */
import { JsonScanner, MAX_LEVELS } from './scanner.ts';

/** Greatest number of members and elements in a text: their objects take some tens of megabytes. */
export const MAX_VALUES = 2 ** 18;

/** The part of ECMAScript's "JSON.parse source text access" that TypeScript does not declare. */
interface RawJson {
  rawJSON(text: string): object;
}

/**
 * `JSON.parse` for a text that others wrote.
 * @throws SyntaxError, without a part of the text, if it is not JSON, nested deeper than
 * `MAX_LEVELS`, or has more values than `MAX_VALUES`
 */
export function parseJson(text: string): unknown {
  checkLimits(text);
  try {
    if (!text.includes('\\')) return JSON.parse(text);
  } catch {
    // The message of V8 shows a part of the text, which the parser below does not.
  }
  return new JsonParser(text, false).document();
}

/**
 * Parses a text like `parseJson`, but a number that JavaScript would write differently, such as
 * 12345678901234567890 or 1.50, is kept as its text (`JSON.rawJSON`).
 * @throws SyntaxError as `parseJson`
 */
export function parseKeepingDigits(text: string): unknown {
  checkLimits(text);
  return new JsonParser(text, true).document();
}

const whole = new JsonScanner([[]]);

/** @throws SyntaxError */
function checkLimits(text: string): void {
  // A level takes two characters, and a value one and its comma.
  if (text.length <= 2 * Math.min(MAX_LEVELS, MAX_VALUES)) return;
  if (whole.scan(Buffer.from(text)) === 'depth') throw new SyntaxError(TOO_DEEP);
  const [{ values = 0 } = {}] = whole.values;
  if (values > MAX_VALUES) throw new SyntaxError('JSON has too many values');
}

const TOO_DEEP = 'JSON is nested too deeply';
const SCALAR = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?|true|false|null/y;
const BLANKS = /[ \t\n\r]*/y;

class JsonParser {
  readonly #text: string;
  readonly #keepsDigits: boolean;
  #at = 0;
  #level = 0;

  constructor(text: string, keepsDigits: boolean) {
    this.#text = text;
    this.#keepsDigits = keepsDigits;
  }

  document(): unknown {
    const value = this.#value();
    this.#take(BLANKS);
    if (this.#at < this.#text.length) throw this.#error();
    return value;
  }

  #value(): unknown {
    this.#take(BLANKS);
    switch (this.#text[this.#at]) {
      case '{':
        return this.#object();
      case '[':
        return this.#array();
      case '"':
        return this.#string();
      default:
        return this.#scalar();
    }
  }

  #object(): object {
    const object: Record<string, unknown> = {};
    this.#open();
    if (this.#isNext('}')) return this.#close(object);
    do {
      this.#take(BLANKS);
      const name = this.#string();
      if (!this.#isNext(':')) throw this.#error();
      const value = this.#value();
      if (name !== '__proto__') object[name] = value;
      // An assignment would set the prototype.
      else Object.defineProperty(object, name, { value, ...PLAIN_MEMBER });
    } while (this.#isNext(','));
    if (!this.#isNext('}')) throw this.#error();
    return this.#close(object);
  }

  #array(): unknown[] {
    const items: unknown[] = [];
    this.#open();
    if (this.#isNext(']')) return this.#close(items);
    do items.push(this.#value());
    while (this.#isNext(','));
    if (!this.#isNext(']')) throw this.#error();
    return this.#close(items);
  }

  #string(): string {
    const text = this.#text;
    const start = this.#at;
    if (text[start] !== '"') throw this.#error();
    let end = start + 1;
    while (end < text.length && text[end] !== '"') end += text[end] === '\\' ? 2 : 1;
    try {
      const string = JSON.parse(text.slice(start, end + 1)) as string;
      this.#at = end + 1;
      return string;
    } catch {
      throw this.#error();
    }
  }

  #scalar(): unknown {
    const text = this.#take(SCALAR);
    const value: unknown = JSON.parse(text);
    return this.#keepsDigits && typeof value === 'number' && String(value) !== text
      ? (JSON as unknown as RawJson).rawJSON(text)
      : value;
  }

  #open(): void {
    if (++this.#level > MAX_LEVELS) throw new SyntaxError(TOO_DEEP);
    this.#at++;
  }

  #close<T>(value: T): T {
    this.#level--;
    return value;
  }

  /** Moves behind blanks and a mark, if it is next. */
  #isNext(mark: string): boolean {
    this.#take(BLANKS);
    if (this.#text[this.#at] !== mark) return false;
    this.#at++;
    return true;
  }

  /** Moves behind what a pattern matches here. @throws SyntaxError */
  #take(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const match = pattern.exec(this.#text)?.[0];
    if (match === undefined) throw this.#error();
    this.#at += match.length;
    return match;
  }

  /** The message shows no part of the text (I6). */
  #error(): SyntaxError {
    return new SyntaxError(`unexpected token in JSON at position ${this.#at}`);
  }
}

const PLAIN_MEMBER = { writable: true, enumerable: true, configurable: true };

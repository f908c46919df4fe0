/**
 * Parsers of untrusted JSON.
 *
 * V8 can confuse an escaped name with another if an earlier object had a name with a backslash
 * (https://github.com/nodejs/node/issues/63785): after `{"a":1,"\\u00":2}`, `JSON.parse` reads
 * `{"a":1,"\u00e9tat":2}` as if its second name were `\u00`. String values are not affected.
 * Therefore texts with escaped names are parsed here.
 */
import { orUndefined } from '../result.ts';
import { keepNumber, parseReviving, type Reviver } from './json-text.ts';
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
 * Parses a text like `parseJson`, but returns undefined instead of throwing.
 * @param maxLevels maximum number of nested arrays and objects
 */
export const tryParseJson = (text: string, maxLevels = MAX_LEVELS): unknown =>
  orUndefined(() => parse(text, false, maxLevels));

/**
 * Parses like `parseJson`, but keeps the text (`JSON.rawJSON`) of numbers that JavaScript would
 * write differently, such as 12345678901234567890 or 1.50.
 * @throws SyntaxError like `parseJson`
 */
export function parseKeepingDigits(text: string): unknown {
  return parse(text, true);
}

const scanner = new JsonScanner([[]]);

function parse(text: string, keepsDigits: boolean, maxLevels = MAX_LEVELS): unknown {
  const scanned = scanner.scan(Buffer.from(text));
  const [{ values = 0, levels = 0 } = {}] = scanner.values;
  const fault = scanned ?? (levels > maxLevels ? 'depth' : undefined);
  if (fault !== undefined)
    throw new SyntaxError(
      fault === 'depth' ? 'the JSON is nested too deeply' : 'the text is not valid JSON',
    );
  if (values > MAX_VALUES) throw new SyntaxError('the JSON has too many values');
  const keeps = keepsDigits && scanner.hasOddNumbers;
  if (scanner.hasEscapedNames) return parseScanned(text, keeps);
  return keeps ? parseReviving(text, keepDigits) : JSON.parse(text);
}

const keepDigits: Reviver = (_, value, { source = '' }) =>
  typeof value === 'number' && String(value) !== source ? keepNumber(source) : value;

/** Parses valid JSON. Only strings and scalars reach V8's parser. */
function parseScanned(text: string, keeps: boolean): unknown {
  let at = 0;
  const next = (): string => {
    TOKEN.lastIndex = at;
    const [all = '', token = ''] = TOKEN.exec(text) ?? [];
    at += all.length;
    if (token !== '"') return token;
    const start = at - 1;
    at = endOfString(text, start);
    return text.slice(start, at);
  };
  const value = (token = next()): unknown => {
    if (token === '[') {
      const list: unknown[] = [];
      for (let one = next(); one !== ']'; one = next()) if (one !== ',') list.push(value(one));
      return list;
    }
    if (token !== '{') return keeps ? parseReviving(token, keepDigits) : JSON.parse(token);
    const object = {};
    for (let name = next(); name !== '}'; name = next()) {
      if (name === ',') continue;
      next();
      setMember(object, JSON.parse(name) as string, value());
    }
    return object;
  };
  return value();
}

/** Punctuation mark, quote or scalar, after whitespace. */
const TOKEN = /\s*(["[\]{}:,]|[^"[\]{}:,\s]+)/y;

/** @param start offset of its first quote. @returns the offset after its last quote */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); ; end = text.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (text[end - 1 - backslashes] === '\\') backslashes++;
    if (backslashes % 2 === 0) return end + 1;
  }
}

/** Returns true for the text of a JSON array or object. */
export function isJsonContainer(text: string): boolean {
  return /^\s*[[{]/.test(text) && new JsonScanner([]).scan(Buffer.from(text)) === undefined;
}

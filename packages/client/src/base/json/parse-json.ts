/**
 * Parsers of untrusted JSON.
 *
 * V8 can confuse an escaped name with another if an earlier object had a name with a backslash
 * (https://github.com/nodejs/node/issues/63785): after `{"a":1,"\\u00":2}`, `JSON.parse` reads
 * `{"a":1,"\u00e9tat":2}` as if its second name were `\u00`. String values are not affected.
 * Therefore escaped names are decoded like string values, and replaced before V8 parses the text.
 */
import { orUndefined } from '../result.ts';
import { keepNumber, parseReviving, type Reviver } from './json-text.ts';
import { objectOf } from './json-values.ts';
import { JsonScanner } from './scanner.ts';

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

/** Parses a text like `parseJson`, but returns undefined instead of throwing. */
export const tryParseJson = (text: string): unknown => orUndefined(() => parse(text, false));

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
  if (fault !== undefined)
    throw new SyntaxError(
      fault === 'depth' ? 'the JSON is nested too deeply' : 'the text is not valid JSON',
    );
  const [{ values = 0 } = {}] = scanner.values;
  if (values > MAX_VALUES) throw new SyntaxError('the JSON has too many values');
  const reviveNumber = keepsDigits && scanner.hasOddNumbers ? keepDigits : undefined;
  if (!scanner.hasEscapedNames)
    return reviveNumber === undefined ? JSON.parse(text) : parseReviving(text, reviveNumber);
  const renamed = new Set<unknown>();
  return parseReviving(withoutEscapes(text), function (name, value, context) {
    if (name.startsWith(PREFIX)) renamed.add(this);
    if (!renamed.has(value)) return reviveNumber?.call(this, name, value, context) ?? value;
    return objectOf(Object.entries(Object(value)).map(([one, member]) => [original(one), member]));
  });
}

const keepDigits: Reviver = (_, value, { source = '' }) =>
  typeof value === 'number' && String(value) !== source ? keepNumber(source) : value;

/** Prefix of the names that replace others. It is random, so that no text contains it. */
const PREFIX = crypto.randomUUID();

const replacement = (name: string) => PREFIX + Buffer.from(name, 'utf16le').toString('hex');

const original = (name: string) =>
  name.startsWith(PREFIX)
    ? Buffer.from(name.slice(PREFIX.length), 'hex').toString('utf16le')
    : name;

/**
 * Returns a JSON text in which every name that occurs with escapes is replaced, even where it is
 * written without them.
 */
function withoutEscapes(text: string): string {
  const names = [...namesIn(text)];
  const escaped = new Set(names.filter(({ isEscaped }) => isEscaped).map(({ name }) => name));
  const parts: string[] = [];
  let from = 0;
  for (const { start, end, name } of names) {
    if (!escaped.has(name)) continue;
    parts.push(text.slice(from, start), `"${replacement(name)}"`);
    from = end;
  }
  return parts.join('') + text.slice(from);
}

/** Yields the names of a JSON text. */
function* namesIn(text: string) {
  for (let start = text.indexOf('"'); start !== -1; ) {
    const end = endOfString(text, start);
    COLON.lastIndex = end;
    if (COLON.test(text)) {
      const string = text.slice(start, end);
      const isEscaped = string.includes('\\');
      const name = isEscaped ? (JSON.parse(string) as string) : string.slice(1, -1);
      yield { start, end, name, isEscaped };
    }
    start = text.indexOf('"', end);
  }
}

const COLON = /\s*:/y;

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

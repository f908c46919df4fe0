/**
 * JSON whose numbers keep their digits.
 *
 * `JSON.parse` reads every number as a double: 12345678901234567890, 1e400 or 0.1000000000000000055 come back as
 * something else. Metadata must come back deep-equal, also for a reader with 64-bit integers or decimals, so such
 * numbers are kept as their source text (`JSON.rawJSON`), which `JSON.stringify` writes out again unchanged.
 * The fast path stays a plain `JSON.parse`: the slow one is taken only for a text that has such a number.
 */
import { isDeeperThan, MAX_DEPTH } from './json-depth.ts';

/** The part of ECMAScript's "JSON.parse source text access" that TypeScript's libraries do not declare yet. */
interface SourceTextJson {
  parse(
    text: string,
    reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown,
  ): unknown;
  rawJSON(text: string): object;
  isRawJSON(value: unknown): boolean;
}
const sourceTextJson = JSON as unknown as SourceTextJson;

/**
 * Literals that a double might not give back: 16 characters or more, a three-digit exponent, or a negative zero. What
 * comes before them keeps most digits inside words (ids, hashes) from matching.
 */
const SUSPECT =
  /[[:,\s](-?\d[\d.]{15,}(?:[eE][-+]?\d+)?|-?\d[\d.]*[eE][-+]?\d{3,}|-0(?:\.0*)?(?:[eE][-+]?\d+)?(?=[\s,\]}]))/g;

const NEGATIVE_ZERO = /[[:,\s]-0/;
const EXPONENT = /[\d.][eE][-+]?\d{3}/;
/** Shortest run of digits and points that makes a literal suspect by its length. */
const LONG = 16;

/**
 * Returns true if a text has anything that looks like part of a suspect. Most have nothing, which
 * this test finds in a third of the time.
 */
function mayHaveSuspects(text: string): boolean {
  // Every date has a minus before a zero.
  if ((text.includes('-0') && NEGATIVE_ZERO.test(text)) || EXPONENT.test(text)) return true;
  // A long run covers one of these places at least.
  for (let at = LONG - 1; at < text.length; at += LONG) {
    let from = at;
    while (from > at - LONG && isDigitOrPoint(text.charCodeAt(from))) from--;
    if (from === at) continue;
    let to = at + 1;
    while (to - from <= LONG && to < text.length && isDigitOrPoint(text.charCodeAt(to))) to++;
    if (to - from > LONG) return true;
  }
  return false;
}

const isDigitOrPoint = (unit: number): boolean => unit === 0x2e || (unit >= 0x30 && unit <= 0x39);

/**
 * Returns true if a plain `JSON.parse` of this text might change a number; false positives are
 * possible, false negatives are not.
 */
export function mayLoseDigits(text: string): boolean {
  if (!mayHaveSuspects(text)) return false;
  SUSPECT.lastIndex = 0;
  for (let match = SUSPECT.exec(text); match !== null; match = SUSPECT.exec(text)) {
    const literal = match[1] ?? '';
    if (String(Number(literal)) !== literal) return true;
  }
  return false;
}

/**
 * `JSON.parse`, but a number that a double would print differently stays as its source text.
 * @param isKept whether such a number is kept; by default each is. @throws SyntaxError
 */
export function parseKeepingDigits(
  text: string,
  isKept: (digits: string) => boolean = () => true,
): unknown {
  return sourceTextJson.parse(text, (_key, value, { source }) =>
    typeof value === 'number' && source !== undefined && String(value) !== source && isKept(source)
      ? sourceTextJson.rawJSON(source)
      : value,
  );
}

/** True if a value stands for a number that kept its digits. */
export function isKeptNumber(value: unknown): boolean {
  return sourceTextJson.isRawJSON(value);
}

/** A number that keeps these digits. @param text one number as JSON writes it @throws SyntaxError */
export function keepNumber(text: string): object {
  return sourceTextJson.rawJSON(text);
}

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$/;

/** True if a text is one number as JSON writes it. */
export function isNumberText(text: string): boolean {
  return NUMBER.test(text);
}

/**
 * True if a text is one JSON value, nested no deeper than metadata can be. Numbers and literals,
 * the common ones, are not parsed.
 */
export function isJsonText(text: string): boolean {
  if (isNumberText(text) || text === 'true' || text === 'false' || text === 'null') return true;
  try {
    return !isDeeperThan(JSON.parse(text), MAX_DEPTH);
  } catch {
    return false;
  }
}

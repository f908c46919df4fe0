/**
 * A .proto file without what does not change how data is read: options, reserved names and numbers, empty statements, comments.
 * protobufjs does not understand all of them that protoc does, lists of messages in options above all.
 */
import { UnusableSchema } from '../../registry/index.ts';

/**
 * A comment, a text, blanks, a word, or any other character. A comment or a text without end is all that follows: who looks for the end
 * from each that begins needs minutes for a file of them.
 */
const TOKEN =
  /\/\/[^\n]*|\/\*(?:.*?\*\/|.*)|"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?$)|'[^'\\]*(?:\\.[^'\\]*)*(?:'|\\?$)|\s+|[^\s{}=;:[\],'"()<>/]+|./gs;
const WHOLE_TEXT = /^(?:"[^"\\]*(?:\\.[^"\\]*)*"|'[^'\\]*(?:\\.[^'\\]*)*')$/s;
const WHOLE_COMMENT = /^\/\*.*\*\/$/s;
const BLANK = /^(?:\s|\/[/*])/;
/** Presence of fields (editions), and enums with two names for a number. */
const NEEDED_OPTION = /^(?:allow_alias$|features(?:\.|$))/;

/** What is left out becomes blanks, so that lines keep their numbers. @throws UnusableSchema for what has no end */
export function essentialText(file: string): string {
  const written = new ProtoFile(file);
  let begins = true;
  for (let at = 0; at < written.length; at++) {
    const token = written.token(at);
    const end =
      token === '['
        ? written.endOf(at + 1, ']')
        : begins && isLeftOut(token)
          ? written.endOf(at, ';')
          : undefined;
    if (end === undefined) {
      begins = token === ';' || token === '{' || token === '}';
    } else {
      if (token === '[') leaveOutOptions(written, at, end);
      else if (token !== 'option' || !isNeeded(written, at + 1, end)) written.leaveOut(at, end + 1);
      at = end;
    }
  }
  return written.text();
}

/** Of a statement's first token. */
function isLeftOut(token: string): boolean {
  return token === ';' || token === 'option' || token === 'reserved';
}

/** Between brackets: what is left of a list keeps the commas within. */
function leaveOutOptions(file: ProtoFile, open: number, close: number): void {
  let kept = 0;
  for (let from = open + 1; from < close; ) {
    const end = file.endOf(from, ',', close);
    const needed = isNeeded(file, from, end);
    if (!needed) file.leaveOut(from, end);
    if (from > open + 1 && (!needed || kept === 0)) file.leaveOut(from - 1, from);
    if (needed) kept++;
    from = end + 1;
  }
  if (kept > 0) return;
  file.leaveOut(open, open + 1);
  file.leaveOut(close, close + 1);
}

/** Of an option from its name on. A feature with an extension in its name is that of a language. */
function isNeeded(file: ProtoFile, from: number, end: number): boolean {
  if (!NEEDED_OPTION.test(file.token(from))) return false;
  for (let at = from; at < end && file.token(at) !== '='; at++)
    if (file.token(at) === '(') return false;
  return true;
}

class ProtoFile {
  readonly #parts: string[];
  /** Where tokens are in the parts. */
  readonly #places: number[] = [];

  constructor(file: string) {
    this.#parts = file.match(TOKEN) ?? [];
    const last = this.#parts.at(-1) ?? '';
    if (/^["']/.test(last) && !WHOLE_TEXT.test(last))
      throw new UnusableSchema('a text in it has no end');
    if (last.startsWith('/*') && !WHOLE_COMMENT.test(last))
      throw new UnusableSchema('a comment in it has no end');
    for (const [place, part] of this.#parts.entries()) {
      if (BLANK.test(part)) this.#blank(place);
      else this.#places.push(place);
    }
  }

  get length(): number {
    return this.#places.length;
  }

  token(at: number): string {
    return this.#parts[this.#places[at] ?? -1] ?? '';
  }

  /** Where `closing` is from `at` on, outside of brackets that open there; `limit` when it is not before that. @throws UnusableSchema */
  endOf(at: number, closing: string, limit = this.length): number {
    let depth = 0;
    for (let next = at; next < limit; next++) {
      const token = this.token(next);
      if (depth === 0 && token === closing) return next;
      if (token === '{' || token === '[' || token === '(' || token === '<') depth++;
      else if ((token === '}' || token === ']' || token === ')' || token === '>') && --depth < 0)
        break;
    }
    if (limit < this.length) return limit;
    // To go on would be to look through all the rest again for each that follows.
    throw new UnusableSchema('a statement or a bracket in it has no end');
  }

  /** @param end the first that stays */
  leaveOut(from: number, end: number): void {
    for (let at = from; at < end; at++) this.#blank(this.#places[at] ?? -1);
  }

  text(): string {
    return this.#parts.join('');
  }

  #blank(place: number): void {
    this.#parts[place] = (this.#parts[place] ?? '').replace(/[^\n]/g, ' ');
  }
}

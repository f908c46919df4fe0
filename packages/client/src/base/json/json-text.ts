/** Parts of JSON texts. */
import { LITERAL, MISSING, type ScannedValue } from './scanner.ts';

/** Part of a JSON text: a string has its quotes. */
export interface JsonPlace {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
}

/** Returns a value as a JSON text of its own, which needs no scan. */
export function jsonTextOf(value: unknown): JsonPlace & { readonly hasEscapes: boolean } {
  const json = JSON.stringify(value);
  const bytes = Buffer.from(json);
  return { bytes, start: 0, end: bytes.length, hasEscapes: json.includes('\\') };
}

/** Returns the text of a JSON string that was scanned. */
export function textOfString({
  bytes,
  start,
  end,
  hasEscapes,
}: JsonPlace & { readonly hasEscapes: boolean }): string {
  return hasEscapes
    ? (JSON.parse(bytes.toString('utf8', start, end)) as string)
    : bytes.toString('utf8', start + 1, end - 1);
}

/** Returns a part as it is written. */
export function writtenText({ bytes, start, end }: JsonPlace): string {
  return bytes.toString('utf8', start, end);
}

const LOWER_N = 0x6e;

/** True for a value that is missing or null. */
export function isAbsent({ type, bytes, start }: ScannedValue): boolean {
  return type === MISSING || (type === LITERAL && bytes[start] === LOWER_N);
}

// Numbers that keep their text (`JSON.rawJSON`), because JavaScript would write another: 1.50,
// 12345678901234567890, 1e400. `JSON.stringify` writes the text again.

/** The part of ECMAScript's "JSON.parse source text access" that TypeScript does not declare. */
interface RawJson {
  rawJSON(text: string): object;
  isRawJSON(value: unknown): boolean;
}
const rawJson = JSON as unknown as RawJson;

interface KeptNumber {
  readonly rawJSON: string;
}

/** Returns a number that keeps its text. @param text one number as JSON writes it */
export function keepNumber(text: string): object {
  return rawJson.rawJSON(text);
}

export function isKeptNumber(value: unknown): value is KeptNumber {
  return rawJson.isRawJSON(value);
}

/** Returns the text of a kept number. */
export function digitsOf({ rawJSON }: KeptNumber): string {
  return rawJSON;
}

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$/;

/** True if a text is one number as JSON writes it. */
export function isNumberText(text: string): boolean {
  return NUMBER.test(text);
}

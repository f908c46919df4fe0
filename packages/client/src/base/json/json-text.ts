/** Parts of JSON texts. */
import { LITERAL, MISSING, type ScannedValue } from './scanner.ts';

/** Part of a JSON text. A string includes its quotes. */
export interface JsonPlace {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
}

/** Returns the JSON text of a value, in the form of a scanned value. */
export function jsonTextOf(value: unknown): JsonPlace & { readonly hasEscapes: boolean } {
  const json = JSON.stringify(value);
  const bytes = Buffer.from(json);
  return { bytes, start: 0, end: bytes.length, hasEscapes: json.includes('\\') };
}

/** Returns the value of a scanned JSON string. */
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

/** Returns the JSON text of a part. */
export function writtenText({ bytes, start, end }: JsonPlace): string {
  return bytes.toString('utf8', start, end);
}

const LOWER_N = 0x6e;

/** Returns true if a value is missing or null. */
export function isAbsent({ type, bytes, start }: ScannedValue): boolean {
  return type === MISSING || (type === LITERAL && bytes[start] === LOWER_N);
}

// Numbers that keep their text (`JSON.rawJSON`), because JavaScript would write them differently:
// 1.50, 12345678901234567890, 1e400. `JSON.stringify` writes their original text.

/** Part of ECMAScript's "JSON.parse source text access" proposal. TypeScript does not declare it. */
interface RawJson {
  parse(text: string, reviver: Reviver): unknown;
  rawJSON(text: string): object;
  isRawJSON(value: unknown): boolean;
}
const rawJson = JSON as unknown as RawJson;

/** `source` is the text of a scalar. */
export type Reviver = (
  this: unknown,
  name: string,
  value: unknown,
  context: { source?: string },
) => unknown;

export function parseReviving(text: string, reviver: Reviver): unknown {
  return rawJson.parse(text, reviver);
}

interface KeptNumber {
  readonly rawJSON: string;
}

/** Returns a number that keeps its text. @param text a number in JSON syntax */
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

/** Returns true if a string is a number in JSON syntax. */
export function isNumberText(text: string): boolean {
  return NUMBER.test(text);
}

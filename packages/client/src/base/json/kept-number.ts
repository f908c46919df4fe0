/**
 * Numbers that keep their text (`JSON.rawJSON`), because JavaScript would write another: 1.50,
 * 12345678901234567890, 1e400. `JSON.stringify` writes the text again.
 */

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

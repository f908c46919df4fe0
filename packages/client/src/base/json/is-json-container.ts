import { JsonScanner } from './scanner.ts';

/** Returns true for the text of a JSON list or object. */
export function isJsonContainer(text: string): boolean {
  return /^\s*[[{]/.test(text) && new JsonScanner([]).scan(Buffer.from(text)) === undefined;
}

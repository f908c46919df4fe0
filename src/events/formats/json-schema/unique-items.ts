/** `uniqueItems` in time that grows with the items, where the library compares each with every other. */

/** Whether no two items are equal, by the rules of JSON Schema: members in any order, and 1.0 is 1. */
export function hasUniqueItems(items: readonly unknown[]): boolean {
  return new Set(items.map(canonical)).size === items.length;
}

/** A text that equal values share. @throws RangeError when they nest too deeply */
function canonical(value: unknown): string {
  // JSON has no text for the infinite number that 1e400 becomes.
  if (typeof value === 'number') return String(value === 0 ? 0 : value);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  const names = Object.keys(value).sort();
  return `{${names.map((name) => `${JSON.stringify(name)}:${canonical((value as Readonly<Record<string, unknown>>)[name])}`).join(',')}}`;
}

/** Values of JSON: their kinds, their depth, and members of any name. */

/** Returns whether a value is an object of JSON: no list, and not null. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Maximum nesting of metadata: serialising a deeper value would need a deep stack, here and in the readers of decisions. */
export const MAX_DEPTH = 64;

/**
 * True if a value of JSON nests more levels of arrays and objects than allowed. Looks no deeper
 * than that itself.
 */
export function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  if (Array.isArray(value)) return value.some((member) => isDeeperThan(member, levels - 1));
  // Values of JSON inherit nothing that is enumerable, and a list of the members would be garbage for each record.
  for (const name in value)
    if (isDeeperThan((value as Readonly<Record<string, unknown>>)[name], levels - 1)) return true;
  return false;
}

/** Names of elements, which V8 keeps in a list with room for all that come before: kilobytes. */
const ELEMENT = /^\d{1,10}$/;

/** Sets a member whatever its name is: `__proto__` would become the prototype of the object. */
export function setMember(object: object, name: string, value: unknown): void {
  const first = name.charCodeAt(0);
  if (name === '__proto__') Object.defineProperty(object, name, { value, ...PLAIN });
  else if (first >= 0x30 && first <= 0x39 && ELEMENT.test(name)) {
    // An element that is read-only first makes the list a table.
    Object.defineProperty(object, name, { value, ...PLAIN, writable: false });
    Object.defineProperty(object, name, PLAIN);
  } else (object as Record<string, unknown>)[name] = value;
}

const PLAIN = { writable: true, enumerable: true, configurable: true };

/** Returns an object of these members; the last of several with one name counts. */
export function objectOf(members: Iterable<readonly [name: string, value: unknown]>): object {
  const object = {};
  for (const [name, value] of members) setMember(object, name, value);
  return object;
}

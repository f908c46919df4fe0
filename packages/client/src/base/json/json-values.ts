/** Helpers for JSON values: objects, and members with special names. */

/** Returns true if a value is a JSON object (neither an array nor null). */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Maximum nesting of metadata. Serialising a deeper value needs a deep stack, here and in consumers of decisions. */
export const MAX_DEPTH = 64;

/**
 * Names that look like array indexes. V8 stores such members in an array with room for all smaller
 * indexes, which can take kilobytes.
 */
const ELEMENT = /^\d{1,10}$/;

/** Sets a member with any name, even `__proto__`. A plain assignment to that would set the object's prototype. */
export function setMember(object: object, name: string, value: unknown): void {
  const first = name.charCodeAt(0);
  if (name === '__proto__') Object.defineProperty(object, name, { value, ...PLAIN });
  else if (first >= 0x30 && first <= 0x39 && ELEMENT.test(name)) {
    // A read-only element makes V8 store the elements in a hash table.
    Object.defineProperty(object, name, { value, ...PLAIN, writable: false });
    Object.defineProperty(object, name, PLAIN);
  } else (object as Record<string, unknown>)[name] = value;
}

const PLAIN = { writable: true, enumerable: true, configurable: true };

/** Returns an object with these members. If a name occurs several times, its last value is used. */
export function objectOf(members: Iterable<readonly [name: string, value: unknown]>): object {
  const object = {};
  for (const [name, value] of members) setMember(object, name, value);
  return object;
}

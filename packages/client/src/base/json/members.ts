/** Objects with members of any name. */

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

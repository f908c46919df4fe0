import { isKeptNumber } from '../../base/exact-json.ts';
import { compareNumbers } from './exact-number.ts';

/**
 * Whether two values of JSON are the same; numbers by value, with all their digits.
 * @param compare is called with each pair of values that is looked at, before it is
 * @throws RangeError when they nest too deeply
 */
export function isSame(
  one: unknown,
  two: unknown,
  compare: (one: unknown, two: unknown) => void,
): boolean {
  compare(one, two);
  if (one === two) return true;
  if (typeof one !== 'object' || typeof two !== 'object' || one === null || two === null)
    return sameNumbers(one, two);
  if (isKeptNumber(one) || isKeptNumber(two)) return sameNumbers(one, two);
  if (Array.isArray(one) || Array.isArray(two)) {
    if (!Array.isArray(one) || !Array.isArray(two) || one.length !== two.length) return false;
    return one.every((member, index) => isSame(member, two[index], compare));
  }
  const names = Object.keys(one);
  if (names.length !== Object.keys(two).length) return false;
  return names.every(
    (name) => Object.hasOwn(two, name) && isSame(member(one, name), member(two, name), compare),
  );
}

const member = (object: object, name: string): unknown =>
  (object as Readonly<Record<string, unknown>>)[name];

/** A kept number equals no double, except that a negative zero is zero. */
function sameNumbers(one: unknown, two: unknown): boolean {
  return compareNumbers(one, two) === 0;
}

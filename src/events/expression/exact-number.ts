/** Arithmetic of numbers that keep their text. */
import { digitsOf, isKeptNumber } from '../../base/json/kept-number.ts';

/** The double that a kept number is, where there is one. Anything else is returned as it is. */
export function asDouble(value: unknown): unknown {
  if (!isKeptNumber(value)) return value;
  const digits = digitsOf(value);
  return holds(digits) ? Number(digits) : value;
}

/** True if a double is this number. A negative zero prints as another. */
function holds(digits: string): boolean {
  const double = Number(digits);
  if (!Number.isFinite(double) || Object.is(double, -0)) return false;
  return compareDecimals(digits, String(double)) === 0;
}

/**
 * True if two values of JSON are the same; numbers by value, with all their digits.
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
  if (!isContainer(one) || !isContainer(two)) return compareNumbers(one, two) === 0;
  if (Array.isArray(one) || Array.isArray(two)) {
    if (!Array.isArray(one) || !Array.isArray(two) || one.length !== two.length) return false;
    return one.every((member, index) => isSame(member, two[index], compare));
  }
  const names = Object.keys(one);
  return (
    names.length === Object.keys(two).length &&
    names.every((name) => Object.hasOwn(two, name) && isSame(one[name], two[name], compare))
  );
}

type Container = Readonly<Record<string, unknown>>;

const isContainer = (value: unknown): value is Container =>
  typeof value === 'object' && value !== null && !isKeptNumber(value);

/** Below zero, zero or above it, as for sorting; undefined unless both are numbers. */
export function compareNumbers(one: unknown, two: unknown): number | undefined {
  const [first, second] = [textOf(one), textOf(two)];
  if (first === undefined || second === undefined) return undefined;
  return compareDecimals(first, second);
}

function textOf(value: unknown): string | undefined {
  if (typeof value === 'number') return String(value);
  return isKeptNumber(value) ? digitsOf(value) : undefined;
}

interface Decimal {
  readonly sign: number;
  /** Power of ten for a point before the digits. Very large ones all compare as far away. */
  readonly exponent: number;
  /** Without zeros at either end: as texts they are in the order of their numbers. */
  readonly digits: string;
}

function compareDecimals(one: string, two: string): number {
  const [a, b] = [decimalOf(one), decimalOf(two)];
  if (a.sign !== b.sign) return a.sign - b.sign;
  if (a.exponent !== b.exponent) return a.sign * (a.exponent - b.exponent);
  return a.digits === b.digits ? 0 : a.digits < b.digits ? -a.sign : a.sign;
}

const DECIMAL = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([-+]?\d+))?$/;

function decimalOf(literal: string): Decimal {
  const [, minus, whole = '', fraction = '', exponent = '0'] = DECIMAL.exec(literal) ?? [];
  const all = whole + fraction;
  let leading = 0;
  while (all[leading] === '0') leading++;
  let end = all.length;
  while (end > leading && all[end - 1] === '0') end--;
  if (end === leading) return { sign: 0, exponent: 0, digits: '' };
  return {
    sign: minus === '-' ? -1 : 1,
    exponent: Number(exponent) + whole.length - leading,
    digits: all.slice(leading, end),
  };
}

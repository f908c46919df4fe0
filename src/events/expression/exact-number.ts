/** Numbers whose text is kept (core/exact-json): those that a double cannot hold, and decimals with a scale. Compared without rounding. */
import { isKeptNumber, mayLoseDigits, parseKeepingDigits } from '../../base/exact-json.ts';

/** The text of a kept number. */
export function digitsOf(kept: object): string {
  return (kept as { readonly rawJSON: string }).rawJSON;
}

/**
 * A document in which only numbers that a double cannot hold are kept. `1.0` stands beside one of those as text too, and is 1
 * everywhere else. @throws RangeError when it is nested too deeply
 */
export function settled(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (isKeptNumber(value)) return asDouble(value);
  if (Array.isArray(value)) {
    let changed = false;
    const members = value.map((member: unknown) => {
      const now = settled(member);
      changed ||= now !== member;
      return now;
    });
    return changed ? members : value;
  }
  let changed = false;
  const members = Object.entries(value).map(([name, member]): [string, unknown] => {
    const now = settled(member);
    changed ||= now !== member;
    return [name, now];
  });
  return changed ? Object.fromEntries(members) : value;
}

/** What to calculate with: the double that a kept number is, where there is one. Anything else is what it is. */
export function asDouble(value: unknown): unknown {
  if (!isKeptNumber(value)) return value;
  const digits = digitsOf(value as object);
  return holds(digits) ? Number(digits) : value;
}

/** Whether a JSON text has numbers that a double cannot hold. */
export function losesDigits(text: string): boolean {
  return mayLoseDigits(text) && hasKept(settled(parseKeepingDigits(text)));
}

function hasKept(value: unknown): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    (isKeptNumber(value) || Object.values(value).some(hasKept))
  );
}

/** Whether a double is this number, and prints as it. A negative zero prints as another. */
function holds(digits: string): boolean {
  const double = Number(digits);
  return (
    Number.isFinite(double) &&
    !Object.is(double, -0) &&
    compareDecimals(digits, String(double)) === 0
  );
}

/** Below zero, zero or above it, as for sorting; undefined when one of the two is no number. */
export function compareNumbers(one: unknown, two: unknown): number | undefined {
  const [first, second] = [textOf(one), textOf(two)];
  return first === undefined || second === undefined ? undefined : compareDecimals(first, second);
}

function textOf(value: unknown): string | undefined {
  if (typeof value === 'number') return String(value);
  return typeof value === 'object' && value !== null && isKeptNumber(value)
    ? digitsOf(value)
    : undefined;
}

interface Decimal {
  readonly negative: boolean;
  /** Without zeros at either end; empty for zero. */
  readonly digits: string;
  /** Of ten, for a point in front of the digits. Large enough ones all compare as what they are: far away. */
  readonly exponent: number;
}

function compareDecimals(one: string, two: string): number {
  const [a, b] = [decimalOf(one), decimalOf(two)];
  if (a.digits === '' && b.digits === '') return 0;
  const sign =
    a.digits === ''
      ? b.negative
        ? 1
        : -1
      : b.digits === '' || a.negative !== b.negative
        ? a.negative
          ? -1
          : 1
        : 0;
  if (sign !== 0) return sign;
  const larger =
    a.exponent === b.exponent ? compareTexts(a.digits, b.digits) : a.exponent - b.exponent;
  return a.negative ? -larger : larger;
}

/** Digits after a point: as texts they are in the order of their numbers. */
function compareTexts(one: string, two: string): number {
  return one === two ? 0 : one < two ? -1 : 1;
}

function decimalOf(literal: string): Decimal {
  const [, sign, whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([-+]?\d+))?$/.exec(literal) ?? [];
  const all = whole + fraction;
  let leading = 0;
  while (all[leading] === '0') leading++;
  let end = all.length;
  while (end > leading && all[end - 1] === '0') end--;
  return {
    negative: sign === '-',
    digits: all.slice(leading, end),
    exponent: Number(exponent) + whole.length - leading,
  };
}

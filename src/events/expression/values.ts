/** Sizes and numbers of the values that expressions handle. */
import { digitsOf, isKeptNumber } from '../../../packages/client/src/base/json/kept-number.ts';

/** Longest text that an expression makes, in UTF-16 units: some would make gigabytes of a megabyte. */
export const MAX_TEXT = 16 * 1024 * 1024;

/** Characters that cost a step. */
const CHARACTERS_A_STEP = 16;
/** Steps of a member of an object: names are hashed, and large objects are slow. */
const STEPS_A_MEMBER = 8;

/** Returns the double of a kept number; any other value as it is. */
export function asDouble(value: unknown): unknown {
  return isKeptNumber(value) ? Number(digitsOf(value)) : value;
}

/** Returns the steps that a function spends on a value: on its entries, members or characters. */
export function sizeOf(value: unknown): number {
  if (typeof value === 'string') return Math.ceil(value.length / CHARACTERS_A_STEP);
  if (typeof value !== 'object' || value === null) return 0;
  if (!Array.isArray(value)) return Object.keys(value).length * STEPS_A_MEMBER;
  let size = value.length;
  for (const entry of value) if (typeof entry === 'string') size += sizeOf(entry);
  return size;
}

/** Returns the least length of a value as JSON; stops once it is more than a limit. */
export function writtenUnits(value: unknown, limit: number): number {
  if (typeof value === 'string') return value.length + 2;
  if (isKeptNumber(value)) return digitsOf(value).length;
  if (typeof value !== 'object' || value === null) return String(value).length;
  let units = 2;
  const isArray = Array.isArray(value);
  for (const name in value) {
    if (units > limit) break;
    units += isArray ? 1 : 4 + name.length;
    const member = (value as Readonly<Record<string, unknown>>)[name];
    units += writtenUnits(member, limit - units);
  }
  return units;
}

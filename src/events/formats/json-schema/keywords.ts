/** Keywords of JSON Schema that Ajv checks with doubles, or in time that grows with the square. */
import type { FuncKeywordDefinition } from 'ajv';
import { isObject } from '../../../base/json/is-object.ts';

/**
 * True if a number is a multiple of another, which is above 0, by the decimal digits of both: as
 * doubles 19.99 is not a multiple of 0.01, nor 1e22 of 1. Both are finite.
 */
export function isMultipleOf(value: number, factor: number): boolean {
  if (Number.isSafeInteger(value) && Number.isSafeInteger(factor)) return value % factor === 0;
  const [a, b] = [decimalOf(value), decimalOf(factor)];
  const exponent = Math.min(a.exponent, b.exponent);
  const scaled = ({ digits, exponent: own }: typeof a) => digits * 10n ** BigInt(own - exponent);
  return scaled(a) % scaled(b) === 0n;
}

/** The shortest decimal that is the double, which is how people and programs write it. */
function decimalOf(value: number): { readonly digits: bigint; readonly exponent: number } {
  const [, whole = '', fraction = '', exponent = '0'] =
    /^-?(\d+)(?:\.(\d+))?(?:e([-+]\d+))?$/.exec(String(value)) ?? [];
  return { digits: BigInt(whole + fraction), exponent: Number(exponent) - fraction.length };
}

/** True if no two items are equal, by the rules of JSON Schema: members in any order, and 1.0 is 1. */
export function hasUniqueItems(items: readonly unknown[]): boolean {
  return new Set(items.map(canonical)).size === items.length;
}

/** A text that equal values share. @throws RangeError when they nest too deeply */
function canonical(value: unknown): string {
  // JSON has no text for the infinite number that 1e400 becomes.
  if (typeof value === 'number') return String(value === 0 ? 0 : value);
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const names = Object.keys(value).sort();
  return `{${names.map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join(',')}}`;
}

export const OWN_KEYWORDS: readonly (FuncKeywordDefinition & { readonly keyword: string })[] = [
  {
    keyword: 'multipleOf',
    type: 'number',
    schemaType: 'number',
    errors: false,
    compile(factor: number) {
      if (!(factor > 0 && factor < Infinity))
        throw new Error('it has a multipleOf that is not a number above 0');
      return (value: number) => isMultipleOf(value, factor);
    },
  },
  {
    keyword: 'uniqueItems',
    type: 'array',
    schemaType: 'boolean',
    errors: false,
    compile: (wanted: boolean) => (items: readonly unknown[]) => !wanted || hasUniqueItems(items),
  },
];

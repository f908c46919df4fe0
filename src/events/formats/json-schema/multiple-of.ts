/** `multipleOf` by the decimal digits of both numbers: as doubles 19.99 is no multiple of 0.01, and 1e22 none of 1. */

/** Whether a number is a multiple of another, which is above 0. Both are finite. */
export function isMultipleOf(value: number, factor: number): boolean {
  if (Number.isSafeInteger(value) && Number.isSafeInteger(factor)) return value % factor === 0;
  const [a, b] = [decimalOf(value), decimalOf(factor)];
  const exponent = Math.min(a.exponent, b.exponent);
  return (
    (a.digits * 10n ** BigInt(a.exponent - exponent)) %
      (b.digits * 10n ** BigInt(b.exponent - exponent)) ===
    0n
  );
}

/** The shortest decimal that is the double, which is how people and programs write it. */
function decimalOf(value: number): { readonly digits: bigint; readonly exponent: number } {
  const [, whole = '', fraction = '', exponent = '0'] =
    /^-?(\d+)(?:\.(\d+))?(?:e([-+]\d+))?$/.exec(String(value)) ?? [];
  return { digits: BigInt(whole + fraction), exponent: Number(exponent) - fraction.length };
}

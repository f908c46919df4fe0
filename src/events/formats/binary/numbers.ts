/** Numbers of binary formats as JSON has them, with all their digits. */
import { keepNumber } from '../../../base/exact-json.ts';
import { BrokenBytes } from './limits.ts';

/** @param text a number as JSON writes it: kept as it stands where a double prints differently */
export function jsonNumber(text: string): unknown {
  const value = Number(text);
  return String(value) === text ? value : keepNumber(text);
}

/** JSON has no NaN and no infinities: they become texts, as in Protobuf's JSON. */
export function jsonDouble(value: number): unknown {
  if (Object.is(value, -0)) return keepNumber('-0.0');
  return Number.isFinite(value) ? value : String(value);
}

/** The shortest number that is this float and no other: 0.1, not 0.10000000149011612. */
export function jsonFloat(value: number): unknown {
  if (value === 0 || !Number.isFinite(value)) return jsonDouble(value);
  let digits = 1;
  while (Math.fround(Number(value.toPrecision(digits))) !== value) digits++;
  return Number(value.toPrecision(digits));
}

/** 2,466 digits. Printing takes the square of the length: megabytes would take minutes. */
const MAX_DECIMAL_BYTES = 1_024;
export const MAX_SCALE = 2_466;

/**
 * A decimal with every digit of its scale: 10.00. @param bytes its unscaled value, a big-endian
 * integer in two's complement. @throws BrokenBytes beyond all use
 */
export function jsonDecimal(bytes: Uint8Array, scale: number): unknown {
  if (bytes.length > MAX_DECIMAL_BYTES)
    throw new BrokenBytes(`a decimal has more than ${MAX_DECIMAL_BYTES} bytes`);
  if (!(Math.abs(scale) <= MAX_SCALE))
    throw new BrokenBytes('the scale of a decimal is out of range');

  const hex = Buffer.from(bytes).toString('hex');
  const unscaled = BigInt.asIntN(bytes.length * 8, BigInt(`0x0${hex}`));
  if (scale <= 0) return jsonNumber((unscaled * 10n ** BigInt(-scale)).toString());
  const digits = (unscaled < 0n ? -unscaled : unscaled).toString().padStart(scale + 1, '0');
  const sign = unscaled < 0n ? '-' : '';
  return jsonNumber(`${sign}${digits.slice(0, -scale)}.${digits.slice(-scale)}`);
}

/** Sets a member whatever its name: `__proto__` would otherwise become the object's prototype. */
export function setMember(target: object, name: string, value: unknown): void {
  if (name !== '__proto__') (target as Record<string, unknown>)[name] = value;
  else Object.defineProperty(target, name, { value, writable: true, enumerable: true });
}

/** Decimals: an integer of any size and the number of its digits behind the point. */
import { BrokenBytes } from './byte-reader.ts';

/** 2,466 digits. Printing takes the square of the length: megabytes would take minutes. */
const MAX_BYTES = 1_024;
export const MAX_SCALE = 2_466;

/** A big-endian integer in two's complement; no bytes are 0. @throws BrokenBytes */
export function unscaledOf(bytes: Buffer): bigint {
  if (bytes.length > MAX_BYTES) throw new BrokenBytes(`a decimal has more than ${MAX_BYTES} bytes`);
  return bytes.length === 0
    ? 0n
    : BigInt.asIntN(bytes.length * 8, BigInt(`0x${bytes.toString('hex')}`));
}

/** As JSON writes numbers, with every digit of the scale: 10.00. @throws BrokenBytes for a scale beyond all use */
export function decimalText(unscaled: bigint, scale: number): string {
  if (!(Math.abs(scale) <= MAX_SCALE))
    throw new BrokenBytes('the scale of a decimal is out of range');
  if (scale === 0) return unscaled.toString();
  if (scale < 0) return unscaled === 0n ? '0' : unscaled.toString() + '0'.repeat(-scale);
  const digits = (unscaled < 0n ? -unscaled : unscaled).toString().padStart(scale + 1, '0');
  return `${unscaled < 0n ? '-' : ''}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}

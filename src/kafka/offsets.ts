/** @throws RangeError for an offset that a number does not hold exactly (ADR 0002). */
export function toOffset(text: string): number {
  const offset = Number(text);
  if (!Number.isSafeInteger(offset) || offset < 0) throw new RangeError(`offset ${text} is not between 0 and 2^53 - 1`);
  return offset;
}

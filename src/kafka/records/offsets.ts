/** Offset that a number does not hold exactly (ADR 0024): a log that has grown so far cannot be read. */
export class UnusableOffset extends RangeError {
  override readonly name = 'UnusableOffset';
  /** A retry does not help. */
  readonly retriable = false;

  constructor(offset: string) {
    super(`offset ${offset} is not between 0 and 2^53 - 1`);
  }
}

/** @throws UnusableOffset */
export function toOffset(text: string): number {
  const offset = Number(text);
  if (text === '' || !Number.isSafeInteger(offset) || offset < 0) throw new UnusableOffset(text);
  return offset;
}

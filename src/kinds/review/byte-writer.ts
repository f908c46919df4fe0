/** Writer of bytes, numbers and instants into a buffer. */

const COLON = 0x3a;
const POINT = 0x2e;
const ZERO = 0x30;
const LETTER_Z = 0x5a;

/** Maximum size to copy byte by byte here. A call of Buffer.copy costs as much as copying this many bytes. */
const FEW_BYTES = 36;
/** Numbers below this (nine digits) fit into 32 bits. */
const BILLION = 1_000_000_000;
const DAY_MS = 86_400_000;

export class ByteWriter {
  /** Buffer to write to. The caller ensures that it has enough room. */
  to: Buffer = Buffer.alloc(0);
  /** Offset of the next byte. */
  at = 0;
  #day = NaN;
  #date: Buffer = Buffer.alloc(0);

  bytes(from: Buffer): void {
    this.at = copied(from, 0, from.length, this.to, this.at);
  }

  range(from: Buffer, start: number, end: number): void {
    this.at = copied(from, start, end, this.to, this.at);
  }

  byte(byte: number): void {
    this.to[this.at++] = byte;
  }

  /** Writes a safe integer that is not negative. */
  count(value: number): void {
    if (value >= BILLION) {
      const high = Math.floor(value / BILLION);
      this.count(high);
      this.#digits(value - high * BILLION, 9);
      return;
    }
    let digits = 1;
    for (let limit = 10; value >= limit; limit *= 10) digits++;
    this.#digits(value, digits);
  }

  /**
   * Writes an instant in the format of Date.toISOString. Caches the date part of the last instant.
   * @param ms time since the epoch, not negative, within the range of Date
   */
  instant(ms: number): void {
    const day = Math.floor(ms / DAY_MS);
    if (day !== this.#day) {
      this.#day = day;
      this.#date = Buffer.from(
        new Date(day * DAY_MS).toISOString().slice(0, -'00:00:00.000Z'.length),
      );
    }
    const millis = ms - day * DAY_MS;
    this.bytes(this.#date);
    this.#digits(Math.floor(millis / 3_600_000), 2);
    this.byte(COLON);
    this.#digits(Math.floor(millis / 60_000) % 60, 2);
    this.byte(COLON);
    this.#digits(Math.floor(millis / 1000) % 60, 2);
    this.byte(POINT);
    this.#digits(millis % 1000, 3);
    this.byte(LETTER_Z);
  }

  /** Writes a number below a billion with exactly `digits` digits, including leading zeros. */
  #digits(value: number, digits: number): void {
    const { to } = this;
    let rest = value;
    for (let at = this.at + digits - 1; at >= this.at; at--) {
      const higher = (rest / 10) | 0;
      to[at] = ZERO + rest - higher * 10;
      rest = higher;
    }
    this.at += digits;
  }
}

/** Copies bytes[start, end). @returns the offset of the next byte */
export function copied(from: Buffer, start: number, end: number, to: Buffer, at: number): number {
  const size = end - start;
  if (size > FEW_BYTES) from.copy(to, at, start, end);
  else for (let byte = 0; byte < size; byte++) to[at + byte] = from[start + byte] as number;
  return at + size;
}

/** Writer of bytes and short texts into a buffer. */

/** Larger copies are left to Node, whose call costs as much as copying these. */
const FEW_BYTES = 36;

export class ByteWriter {
  /** The caller provides the room. */
  to: Buffer = Buffer.alloc(0);
  /** Offset of the next byte. */
  at = 0;

  bytes(from: Buffer): void {
    this.at = copied(from, 0, from.length, this.to, this.at);
  }

  range(from: Buffer, start: number, end: number): void {
    this.at = copied(from, start, end, this.to, this.at);
  }

  byte(byte: number): void {
    this.to[this.at++] = byte;
  }

  /** Writes a short text of ASCII: a number, an instant. */
  ascii(text: string): void {
    const { to, at } = this;
    for (let i = 0; i < text.length; i++) to[at + i] = text.charCodeAt(i);
    this.at = at + text.length;
  }
}

/** Copies bytes[start, end). @returns the offset of the next byte */
export function copied(from: Buffer, start: number, end: number, to: Buffer, at: number): number {
  const size = end - start;
  if (size > FEW_BYTES) from.copy(to, at, start, end);
  else for (let byte = 0; byte < size; byte++) to[at + byte] = from[start + byte] as number;
  return at + size;
}

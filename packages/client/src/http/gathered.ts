/**
 * Gathers chunks into pieces of `size` bytes, of which the last may be smaller. Bytes before an error
 * are yielded before it is thrown. Chunks are copied as they come: a body that drips byte by byte
 * would take hundreds of bytes of objects for each.
 */
export async function* gathered(
  chunks: AsyncIterable<Buffer>,
  size: number,
): AsyncGenerator<Buffer, void, void> {
  let piece = Buffer.allocUnsafeSlow(size);
  let length = 0;
  try {
    for await (const chunk of chunks)
      for (let from = 0; from < chunk.length; ) {
        const copied = chunk.copy(piece, length, from);
        from += copied;
        length += copied;
        if (length < size) continue;
        yield piece;
        piece = Buffer.allocUnsafeSlow(size);
        length = 0;
      }
  } catch (error) {
    if (length > 0) yield Buffer.from(piece.subarray(0, length));
    throw error;
  }
  if (length > 0) yield Buffer.from(piece.subarray(0, length));
}

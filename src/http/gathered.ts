/**
 * Gathers chunks into pieces of at least `minBytes`, of which the last may be smaller. Bytes before
 * an error are yielded before it is thrown.
 */
export async function* gathered(
  chunks: AsyncIterable<Buffer>,
  minBytes: number,
): AsyncGenerator<Buffer, void, void> {
  let held: Buffer[] = [];
  let size = 0;
  const piece = () => {
    const bytes = Buffer.concat(held, size);
    held = [];
    size = 0;
    return bytes;
  };
  try {
    for await (const chunk of chunks) {
      held.push(chunk);
      size += chunk.length;
      if (size >= minBytes) yield piece();
    }
  } catch (error) {
    if (size > 0) yield piece();
    throw error;
  }
  if (size > 0) yield piece();
}

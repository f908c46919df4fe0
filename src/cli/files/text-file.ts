/** Longest line: a longer one is no event. */
export const MAX_LINE_BYTES = 16 * 1024 * 1024;
const LINE_FEED = 0x0a;
const LINE_END = Buffer.from('\n');
const UTF8_MARK = '\xef\xbb\xbf';

/** Returns the length of the byte order mark at the beginning: 3 or 0. */
export const markBytes = (head: Buffer): number =>
  head.toString('latin1').startsWith(UTF8_MARK) ? UTF8_MARK.length : 0;

/** Lines without their line feeds. */
export function* linesOf(bytes: Buffer): Generator<Buffer, void, undefined> {
  for (let from = 0; from < bytes.length; ) {
    const end = bytes.indexOf(LINE_FEED, from);
    yield bytes.subarray(from, end < 0 ? bytes.length : end);
    from = end < 0 ? bytes.length : end + 1;
  }
}

/**
 * Cuts a stream into pieces of whole lines; only the last piece may lack its line feed. A line of more than `maxBytes` is cut
 * off shortly after that length, which bounds the memory.
 */
export async function* wholeLines(
  chunks: AsyncIterable<Buffer>,
  maxBytes: number,
): AsyncGenerator<Buffer, void, undefined> {
  let begun: Buffer[] = [];
  let begunBytes = 0;
  let isCut = false;
  for await (const chunk of chunks) {
    const firstEnd = chunk.indexOf(LINE_FEED) + 1;
    if (isCut && firstEnd === 0) continue;
    const from = isCut ? firstEnd : 0;
    const end = Math.max(from, chunk.lastIndexOf(LINE_FEED) + 1);
    isCut = false;

    if (end > from) {
      yield Buffer.concat([...begun, chunk.subarray(from, end)]);
      begun = [];
      begunBytes = 0;
    }
    begun.push(chunk.subarray(end));
    begunBytes += chunk.length - end;
    if (begunBytes <= maxBytes) continue;
    yield Buffer.concat([...begun, LINE_END]);
    begun = [];
    begunBytes = 0;
    isCut = true;
  }
  if (begunBytes > 0) yield Buffer.concat(begun);
}

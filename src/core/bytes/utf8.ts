/** Character that decoding substitutes for bytes that are not UTF-8. */
const REPLACEMENT = '\ufffd';

/**
 * Returns bytes as text; undefined when they are not UTF-8. They are decoded without being validated first; only a text that has what
 * decoding puts in the place of others is compared with them.
 */
export function textOf(bytes: Buffer, start = 0, end = bytes.length): string | undefined {
  const text = bytes.toString('utf8', start, end);
  return text.includes(REPLACEMENT) && !Buffer.from(text).equals(bytes.subarray(start, end))
    ? undefined
    : text;
}

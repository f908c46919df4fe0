/**
 * Pairs of JSON objects of which V8's parser reads the second with a key of the first
 * (https://github.com/nodejs/node/issues/63785): the document of one author changes that of another.
 */

export interface RenamingPair {
  /** Is read first, by whichever parser. */
  readonly attack: string;
  readonly victim: string;
  readonly value: Readonly<Record<string, unknown>>;
}

let pairs = 0;

/**
 * @param name key of the victim's second member; its first character is below U+0100
 * @param first key of the first member. V8 confuses the keys after one only once
 */
export function renamingPair(
  name = 'état',
  value: unknown = 'confidential',
  first = `first${process.pid}x${pairs++}`,
): RenamingPair {
  const escaped = `\\u${name.charCodeAt(0).toString(16).padStart(4, '0')}${name.slice(1)}`;
  // As many characters of the escaped key as the key has: that far V8 compares them.
  const taken = JSON.stringify(escaped.slice(0, name.length));
  return {
    attack: `{"${first}":1,${taken}:2}`,
    victim: `{"${first}":1,"${escaped}":${JSON.stringify(value)}}`,
    value: { [first]: 1, [name]: value },
  };
}

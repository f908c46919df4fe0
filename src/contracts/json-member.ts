/** Where a member of a JSON object is in its text: what is taken as text keeps its digits, and may be nested as deeply as it likes. */

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const LIST = 0x5b;
const LIST_END = 0x5d;
const OBJECT = 0x7b;
const OBJECT_END = 0x7d;

/**
 * The value of the first member of that name, on the top level alone.
 * @param json the text of an object, known to be valid. @param name without anything that JSON would escape
 */
export function memberSpan(
  json: string,
  name: string,
): { readonly start: number; readonly end: number } | undefined {
  const wanted = `"${name}"`;
  let depth = 0;
  let isName = false;
  let start = -1;
  for (let at = 0; at < json.length; at++) {
    switch (json.charCodeAt(at)) {
      case QUOTE: {
        const end = endOfString(json, at);
        if (isName && depth === 1) {
          isName = false;
          if (end - at + 1 === wanted.length && json.startsWith(wanted, at))
            start = json.indexOf(':', end) + 1;
        }
        at = end;
        break;
      }
      case OBJECT:
      case LIST:
        depth++;
        isName = depth === 1;
        break;
      case OBJECT_END:
      case LIST_END:
        depth--;
        if (depth === 0 && start >= 0) return { start, end: at };
        break;
      case COMMA:
        if (depth !== 1) break;
        if (start >= 0) return { start, end: at };
        isName = true;
    }
  }
  return undefined;
}

/** Index of the quote that closes the string whose opening one is at `start`. */
function endOfString(json: string, start: number): number {
  for (let end = json.indexOf('"', start + 1); end >= 0; end = json.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (json.charCodeAt(end - 1 - backslashes) === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return end;
  }
  return json.length;
}

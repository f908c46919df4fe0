/**
 * Reading of JSON whose keys have escapes. V8 takes such a key for another one when an object before it had a key with a backslash in
 * it (https://github.com/nodejs/node/issues/63785): after `{"a":1,"\\u00":2}` it reads `{"a":1,"\u00e9tat":2}` as if the second key
 * were the first one's. Strings that are values are always read as they are, so here keys become values first.
 */

const KEY_END = /\s*:/y;
const STRING_OR_MARK = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\]:]/gs;
/** An object is a 1 and a list of its keys and values, an array a 0 and a list of its values. */
const MARKS: Readonly<Record<string, string>> = {
  '{': '[1,[',
  '}': ']]',
  '[': '[0,[',
  ']': ']]',
  ':': ',',
};

/** True if a key in a JSON text has an escape. */
export function hasEscapedKeys(text: string): boolean {
  let quote = -1;
  for (let mark = text.indexOf('\\'); mark !== -1; ) {
    // To the end of the string: an escaped character does not end it.
    do {
      const next = mark + 2;
      if (quote < next) quote = text.indexOf('"', next);
      mark = text.indexOf('\\', next);
    } while (mark !== -1 && mark < quote);
    if (quote === -1) return false;
    KEY_END.lastIndex = quote + 1;
    if (KEY_END.test(text)) return true;
  }
  return false;
}

/**
 * Returns what `parse` makes of a valid JSON text, with the keys that the text has.
 * @param parse JSON.parse, perhaps with a reviver that changes numbers only
 * @throws RangeError when the text is nested too deeply
 */
export function parseEscapedKeys(text: string, parse: (text: string) => unknown): unknown {
  return restored(parse(text.replace(STRING_OR_MARK, (part) => MARKS[part] ?? part)));
}

function restored(value: unknown): unknown {
  if (!Array.isArray(value)) return value;
  const [isObject, items] = value as [0 | 1, unknown[]];
  if (isObject === 0) return items.map(restored);
  const members: [string, unknown][] = [];
  for (let at = 0; at < items.length; at += 2)
    members.push([items[at] as string, restored(items[at + 1])]);
  return Object.fromEntries(members);
}

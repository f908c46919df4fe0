/** Place of a member of a JSON object in its text: as text it keeps its digits and its depth. */

const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],]/gs;

/**
 * The value of the first member of that name, on the top level alone.
 * @param json the text of an object, known to be valid
 * @param name without anything that JSON would escape
 */
export function memberSpan(
  json: string,
  name: string,
): { readonly start: number; readonly end: number } | undefined {
  let depth = 0;
  let isName = false;
  let start = -1;
  for (const { 0: token, index } of json.matchAll(TOKEN)) {
    if (token === '{' || token === '[') isName = ++depth === 1;
    else if (token === '}' || token === ']') depth--;
    else if (token === ',') isName = depth === 1;
    else if (isName) {
      isName = false;
      if (token === `"${name}"`) start = json.indexOf(':', index + token.length) + 1;
    }
    const isOver = (depth === 1 && token === ',') || depth === 0;
    if (start >= 0 && isOver) return { start, end: index };
  }
  return undefined;
}

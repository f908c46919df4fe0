/** Text of others at a terminal: characters that move its cursor, colour it or turn its direction are shown as escapes. */

const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;
const DEFAULT_MAX = 200;

/** Returns one value on one line, cut to `max` characters. */
export function printable(text: string, max = DEFAULT_MAX): string {
  const characters = Array.from(text.slice(0, 2 * max + 2));
  const short = characters.length > max ? `${characters.slice(0, max).join('')}…` : text;
  return short.replace(UNPRINTABLE, escaped);
}

/** Returns a whole answer with its line ends. */
export function printableLines(text: string): string {
  return text.replace(UNPRINTABLE, (one) => (one === '\n' ? one : escaped(one)));
}

/** Returns an equal JSON document, with escapes in its strings. */
export function printableJson(json: string): string {
  return json.replace(UNPRINTABLE, (character) =>
    Array.from({ length: character.length }, (_, unit) => escaped(character.charAt(unit))).join(''),
  );
}

function escaped(character: string): string {
  const code = (character.codePointAt(0) ?? 0).toString(16);
  return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, '0')}`;
}

/**
 * Returns a JSON object.
 * @param raw members whose values are JSON already; their numbers keep all of their digits.
 */
export function jsonText(plain: object, raw: Readonly<Record<string, string | null>>): string {
  const members = Object.entries(raw).map(([name, json]) => `,${JSON.stringify(name)}:${json}`);
  return `${JSON.stringify(plain).slice(0, -1)}${members.join('')}}`;
}

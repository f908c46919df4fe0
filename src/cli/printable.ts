/** Text of other people at a terminal: what would move its cursor, colour it or turn its direction is shown, not done. */

const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;
const DEFAULT_MAX = 200;

/** One value on one line: control and direction characters as `\u…`, cut to `max` characters. */
export function printable(text: string, max = DEFAULT_MAX): string {
  const characters = Array.from(text.slice(0, 2 * max + 2));
  const short = characters.length > max ? `${characters.slice(0, max).join('')}…` : text;
  return short.replace(UNPRINTABLE, escaped);
}

/** A whole answer: its own line ends stay. */
export function printableLines(text: string): string {
  return text.replace(UNPRINTABLE, (one) => (one === '\n' ? one : escaped(one)));
}

/** A JSON document that does nothing at a terminal, and means the same: what stands in its texts is escaped. */
export function printableJson(json: string): string {
  return json.replace(UNPRINTABLE, (character) =>
    Array.from({ length: character.length }, (_, unit) => escaped(character.charAt(unit))).join(''),
  );
}

function escaped(character: string): string {
  const code = (character.codePointAt(0) ?? 0).toString(16);
  return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, '0')}`;
}

/** Memory that a value of JSON takes beside its text: `{}` is two bytes, and as an object more than sixty. */

/**
 * Most marks of structure that a JSON text may have: so many objects, members and items take some tens of megabytes, and less than
 * a second. A shorter text has fewer.
 */
export const MAX_MARKS = 2 ** 20;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const BRACKET = 0x5b;
const BRACE = 0x7b;

/** Whether a JSON text has more braces, brackets, commas and colons outside its strings than allowed. */
export function hasTooManyMarks(text: Buffer): boolean {
  if (text.length <= MAX_MARKS) return false;
  let marks = 0;
  let inString = false;
  for (let at = 0; at < text.length; at++) {
    const byte = text[at];
    if (inString) {
      if (byte === BACKSLASH) at++;
      else inString = byte !== QUOTE;
    } else if (byte === QUOTE) inString = true;
    else if (
      (byte === COMMA || byte === COLON || byte === BRACKET || byte === BRACE) &&
      ++marks > MAX_MARKS
    )
      return true;
  }
  return false;
}

/** As measured: `{}` takes 64 in its list, `[]` 37. */
const CONTAINER_BYTES = 64;
/** Its place, and what a short text or a double costs beyond its characters. */
const MEMBER_BYTES = 16;

/** @param value nested no deeper than a mapping allows */
export function memoryBesideText(value: object): number {
  let bytes = CONTAINER_BYTES;
  if (Array.isArray(value)) for (const member of value) bytes += memoryOfMember(member);
  else
    for (const name in value)
      bytes += memoryOfMember((value as Readonly<Record<string, unknown>>)[name]);
  return bytes;
}

function memoryOfMember(member: unknown): number {
  return (
    MEMBER_BYTES + (typeof member === 'object' && member !== null ? memoryBesideText(member) : 0)
  );
}

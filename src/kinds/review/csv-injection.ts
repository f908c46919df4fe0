/**
 * Protection from CSV injection for people who open upload or result files in a spreadsheet. Off by
 * default, because it changes the content under review (docs/service-security.md).
 */

/** True for a leading `=`, `+`, `-`, `@`, also full-width, tab, CR or LF (OWASP). */
export function looksLikeFormula(text: string): boolean {
  return /^[=+\-@\t\r\n＝＋－＠]/.test(text);
}

/** Prepends an apostrophe, which makes a spreadsheet show a text. */
export function asText(text: string): string {
  return `'${text}`;
}

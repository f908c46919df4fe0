/**
 * Cells that a spreadsheet would take for a formula (CSV injection), for people who open upload or result files in one. Off by
 * default: a cell that is changed is another content to review (docs/service-security.md).
 */

/** `=`, `+`, `-`, `@`, tab, CR or LF at the beginning of a cell (OWASP), wide ones too; whether it is quoted makes no difference to a spreadsheet. */
export function looksLikeFormula(text: string): boolean {
  return /^[=+\-@\t\r\n＝＋－＠]/.test(text);
}

/** With an apostrophe, which makes it a text to a spreadsheet. */
export function asText(text: string): string {
  return `'${text}`;
}

/** What asText made of it, undone. A service that changed the cell is believed. */
export function fromText(cell: string): string {
  return cell.startsWith("'") ? cell.slice(1) : cell;
}

/**
 * Text for people. External text is escaped, so that it cannot move a terminal's cursor, or change
 * its colours or text direction.
 */

import { escapeUnprintable } from '../base/shown-text.ts';

const DEFAULT_MAX = 200;
const MAX_SENTENCE = 2_000;

/** Returns a value on one line, cut to `max` characters. */
export function printable(text: string, max = DEFAULT_MAX): string {
  const characters = Array.from(text.slice(0, 2 * max + 2));
  const short = characters.length > max ? `${characters.slice(0, max).join('')}…` : text;
  return escapeUnprintable(short);
}

/** Returns a sentence on one line, cut to 2,000 characters. */
export const sentence = (text: string): string => printable(text, MAX_SENTENCE);

/** Returns a text of several lines, with its line ends. */
export function printableLines(text: string): string {
  return text.split('\n').map(escapeUnprintable).join('\n');
}

/** Returns an equivalent JSON document with unprintable characters escaped. */
export function printableJson(json: string): string {
  return escapeUnprintable(json);
}

/** Cell of a table: a string, a count, or null (`-`). Offsets are strings, because separators would hinder copying. */
export type TableCell = string | number | null;

const GAP = '   ';

/** Returns the lines of a table. Columns with counts or percentages are aligned to the right. */
export function table(heads: readonly string[], rows: readonly (readonly TableCell[])[]): string {
  const lines = [heads, ...rows.map((row) => row.map(cellText))];
  const columns = heads.map((_, column) => {
    const texts = lines.map((line) => line[column] ?? '');
    return {
      width: Math.max(...texts.map(({ length }) => length)),
      isNumeric:
        rows.length > 0 && texts.slice(1).every((text) => /^([\d,]*|[\d.]+ %|-)$/.test(text)),
    };
  });
  const lineOf = (texts: readonly string[]) =>
    columns
      .map(({ width, isNumeric }, column) => {
        const text = texts[column] ?? '';
        return isNumeric ? text.padStart(width) : text.padEnd(width);
      })
      .join(GAP)
      .trimEnd();
  return `${lines.map(lineOf).join('\n')}\n`;
}

const cellText = (cell: TableCell): string =>
  cell === null ? '-' : typeof cell === 'number' ? grouped(cell) : printable(cell);

/** Returns a line for each fact that is not empty. */
export function facts(
  pairs: Readonly<Record<string, string>> | readonly (readonly [string, string])[],
  indent = '',
): string {
  const entries = Array.isArray(pairs) ? pairs : Object.entries(pairs);
  const known: [string, string][] = entries.filter(([, text]) => text !== '');
  const width = Math.max(...known.map(([name]) => name.length));
  return known
    .map(([name, text]) => `${indent}${name.padEnd(width)}${GAP}${sentence(text)}\n`)
    .join('');
}

/** Returns the time since a moment in its two largest units, such as `42s`, `3m10s` or `2d4h`. */
export function ago(ms: number, nowMs: number): string {
  const seconds = Math.max(0, Math.floor((nowMs - ms) / 1_000));
  const amounts: [number, string][] = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor(seconds / 3_600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'm'],
    [seconds % 60, 's'],
  ];
  const first = amounts.findIndex(([amount]) => amount > 0);
  const shown = amounts.slice(first, first + 2).filter(([amount]) => amount > 0);
  return first === -1 ? '0s' : shown.map(([amount, unit]) => `${amount}${unit}`).join('');
}

/** Returns a time as ISO 8601 in UTC, or as a number if it is outside the range of dates. */
export function instant(ms: number): string {
  return Math.abs(ms) <= 8.64e15 ? new Date(ms).toISOString() : String(ms);
}

/** Returns a number with separators, such as `2,000`. */
export const grouped = (count: number): string => count.toLocaleString('en-US');

/** Returns a share as a percentage, such as `66.7 %`. */
export const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;

/** Returns a number with its noun, such as `1 row` or `2,000 rows`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${grouped(count)} ${count === 1 ? one : many}`;
}

/** Tables with aligned columns. */
import type { Screen, Style } from './screen.ts';

export interface Cell {
  readonly text: string;
  readonly style?: Style;
}

const GAP = '  ';
const INDENT = '  ';
const NARROWEST_COLUMN = 8;

/**
 * Heads and rows as lines no wider than the screen.
 * @param flexible how many of the last columns are cut to share what the others leave.
 */
export function table(
  screen: Screen,
  heads: readonly string[],
  rows: readonly (readonly Cell[])[],
  { flexible = 1 }: { readonly flexible?: number } = {},
): string[] {
  const all: (readonly Cell[])[] = [heads.map((text): Cell => ({ text, style: 'dim' })), ...rows];
  const widths = heads.map((_, column) =>
    Math.max(...all.map((row) => row[column]?.text.length ?? 0)),
  );
  const fixed = widths.slice(0, -flexible).reduce((sum, width) => sum + width, 0);
  let room = screen.columns - 1 - INDENT.length - fixed - GAP.length * (widths.length - 1);
  for (let left = flexible; left > 0; left--) {
    const column = widths.length - left;
    const width = Math.max(
      NARROWEST_COLUMN,
      Math.min(widths[column] ?? 0, Math.floor(room / left)),
    );
    widths[column] = width;
    room -= width;
  }
  return all.map((row) => {
    const cells = row.map(({ text, style }, column) => {
      const width = widths[column] ?? 0;
      const fitting = column === row.length - 1 ? cut(text, width) : cut(text, width).padEnd(width);
      return style === undefined ? fitting : screen.paint(style, fitting);
    });
    return `${INDENT}${cells.join(GAP)}`.trimEnd();
  });
}

export function cut(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, Math.max(0, width - 3))}...`;
}

/** 1234567 as 1,234,567. */
export function grouped(count: number): string {
  return count.toLocaleString('en-US');
}

/** `1 batch`, `2 batches`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${grouped(count)} ${count === 1 ? one : many}`;
}

export function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}

/** `91.3 %`. */
export function share(part: number, whole: number): string {
  return whole === 0 ? 'none' : `${((100 * part) / whole).toFixed(1)} %`;
}

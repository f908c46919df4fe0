/** Tables with aligned columns. */
import type { Screen, Style } from './screen.ts';

export interface Cell {
  readonly text: string;
  readonly style?: Style;
}

const GAP = '  ';
const INDENT = '  ';

/** Heads and rows as lines no wider than the screen: what does not fit is cut from the last column. */
export function table(screen: Screen, heads: readonly string[], rows: readonly (readonly Cell[])[]): string[] {
  const all: (readonly Cell[])[] = [heads.map((text): Cell => ({ text, style: 'dim' })), ...rows];
  const widths = heads.map((_, column) => Math.max(...all.map((row) => row[column]?.text.length ?? 0)));
  const before = widths.slice(0, -1).reduce((sum, width) => sum + width + GAP.length, INDENT.length);
  const room = Math.max(10, screen.columns - before - 1);
  return all.map((row) => {
    const cells = row.map(({ text, style }, column) => {
      const isLast = column === row.length - 1;
      const fitting = isLast ? cut(text, room) : text.padEnd(widths[column] ?? 0);
      return style === undefined ? fitting : screen.paint(style, fitting);
    });
    return `${INDENT}${cells.join(GAP)}`;
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

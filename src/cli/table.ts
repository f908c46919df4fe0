/** Tables for people: upper-case heads, columns aligned, numbers to the right, nothing cut but the texts of others. */
import { printable } from './printable.ts';

export type Cell = string | number | null;

const GAP = '   ';

/** Lines of a table; null is shown as `-`. Counts get separators; an offset is given as text, to be
 * copied as it is. A column of nothing but digits is aligned to the right. */
export function table(heads: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const texts = rows.map((row) => row.map(cellText));
  const widths = heads.map((head, column) =>
    Math.max(head.length, ...texts.map((row) => (row[column] ?? '').length)),
  );
  const numeric = heads.map((_, column) =>
    texts.every((row) => /^([\d,]*|-)$/.test(row[column] ?? '')),
  );
  const line = (cells: readonly string[]) =>
    cells
      .map((text, column) => {
        const width = widths[column] ?? 0;
        return numeric[column] === true && rows.length > 0
          ? text.padStart(width)
          : text.padEnd(width);
      })
      .join(GAP)
      .trimEnd();
  return `${[heads, ...texts].map(line).join('\n')}\n`;
}

const cellText = (cell: Cell): string =>
  cell === null ? '-' : typeof cell === 'number' ? cell.toLocaleString('en-US') : printable(cell);

/** How long ago, in the two largest units: `42s`, `3m10s`, `2d4h`. */
export function ago(ms: number, nowMs: number): string {
  const seconds = Math.max(0, Math.floor((nowMs - ms) / 1_000));
  const units: [string, number][] = [
    ['d', 86_400],
    ['h', 3_600],
    ['m', 60],
    ['s', 1],
  ];
  const first = units.findIndex(([, size]) => seconds >= size);
  if (first === -1) return '0s';
  let rest = seconds;
  let text = '';
  for (const [unit, size] of units.slice(first, first + 2)) {
    const amount = Math.floor(rest / size);
    rest -= amount * size;
    if (amount > 0) text += `${amount}${unit}`;
  }
  return text;
}

/** ISO 8601, UTC; what no date can hold as the number it is. */
export function instant(ms: number): string {
  return Math.abs(ms) <= 8.64e15 ? new Date(ms).toISOString() : String(ms);
}

/** `1 row`, `2 rows`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString('en-US')} ${count === 1 ? one : many}`;
}

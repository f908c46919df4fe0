/** Terminal output: permanent lines, and below them a block that is redrawn in place if possible. */
import { styleText } from 'node:util';
import type { PipelineName } from './cluster.ts';

export type Style = Parameters<typeof styleText>[0];

/** Width for output to a file, where lines are not wrapped. */
const FILE_COLUMNS = 160;
const NARROWEST = 72;
/** Time between plain lines that replace the block where nothing can be redrawn. */
const PLAIN_MS = 1_000;

export class Screen {
  readonly #out: NodeJS.WriteStream;
  readonly #live: boolean;
  #block: readonly string[] = [];
  #plain = '';
  #plainMs = Number.NEGATIVE_INFINITY;

  constructor(out: NodeJS.WriteStream, terminal = process.env.TERM) {
    this.#out = out;
    this.#live = out.isTTY && this.columns >= NARROWEST && terminal !== 'dumb';
  }

  get columns(): number {
    return this.#out.columns ?? FILE_COLUMNS;
  }

  /** Colours text if the output is a terminal that supports it; NO_COLOR is respected. */
  paint(style: Style, text: string): string {
    return styleText(style, text, { stream: this.#out });
  }

  /** Prints a permanent line above the block. */
  print(text = ''): void {
    const block = this.#block.map((line) => `${line}\n`).join('');
    this.#out.write(`${this.#upToBlock()}${text}\n${block}`);
  }

  /** Redraws the block; where that is impossible, prints `plain` if it is new and not too soon, or `last`. */
  draw(
    lines: readonly string[],
    plain: string,
    {
      last = false,
      everyMs = PLAIN_MS,
    }: { readonly last?: boolean; readonly everyMs?: number } = {},
  ): void {
    if (this.#live) {
      this.#out.write(`${this.#upToBlock()}${lines.map((line) => `${line}\n`).join('')}`);
      this.#block = last ? [] : lines;
      return;
    }
    const now = performance.now();
    if (plain === this.#plain || (!last && now - this.#plainMs < everyMs)) return;
    this.#plain = plain;
    this.#plainMs = now;
    this.#out.write(`${plain}\n`);
  }

  /** Removes the block. */
  clear(): void {
    this.#out.write(this.#upToBlock());
    this.#block = [];
  }

  /** Moves to the first line of the block, and erases everything from there. */
  #upToBlock(): string {
    return this.#block.length === 0 ? '' : `\r\u001b[${this.#block.length}A\u001b[0J`;
  }
}

export interface Cell {
  readonly text: string;
  readonly style?: Style;
}

const GAP = '  ';
const NARROWEST_COLUMN = 8;

/**
 * Aligned columns no wider than the screen.
 * @param flexible number of the last columns that are cut to fit
 */
export function table(
  screen: Screen,
  heads: readonly string[],
  rows: readonly (readonly Cell[])[],
  flexible = 1,
): string[] {
  const all: (readonly Cell[])[] = [heads.map((text): Cell => ({ text, style: 'dim' })), ...rows];
  const widths = heads.map((_, column) =>
    Math.max(...all.map((row) => row[column]?.text.length ?? 0)),
  );
  const fixed = widths.slice(0, -flexible).reduce((sum, width) => sum + width, 0);
  let room = screen.columns - 1 - fixed - GAP.length * widths.length;
  for (let left = flexible; left > 0; left--) {
    const column = widths.length - left;
    const width = Math.min(widths[column] ?? 0, Math.floor(room / left));
    widths[column] = Math.max(NARROWEST_COLUMN, width);
    room -= widths[column] ?? 0;
  }
  return all.map((row) => {
    const cells = row.map(({ text, style }, column) => {
      const width = widths[column] ?? 0;
      const fitting = column === row.length - 1 ? cut(text, width) : cut(text, width).padEnd(width);
      return style === undefined ? fitting : screen.paint(style, fitting);
    });
    return `${GAP}${cells.join(GAP)}`.trimEnd();
  });
}

const HEAD_COLUMNS = 9;

/** One line of a head and cells, no wider than the screen. */
export function segments(screen: Screen, head: string, cells: readonly Cell[]): string {
  let room = screen.columns - 1 - GAP.length - HEAD_COLUMNS;
  const parts = cells.map(({ text, style }) => {
    const fitting = room <= GAP.length ? '' : cut(text, room - GAP.length);
    room -= fitting.length + GAP.length;
    return fitting === '' || style === undefined ? fitting : screen.paint(style, fitting);
  });
  const shown = parts.filter((part) => part !== '').join(GAP);
  return `${GAP}${screen.paint('dim', head.padEnd(HEAD_COLUMNS))}${shown}`;
}

export const cut = (text: string, width: number): string =>
  text.length <= width ? text : `${text.slice(0, Math.max(0, width - 3))}...`;

/** 1234567 as 1,234,567. */
export const grouped = (count: number): string => count.toLocaleString('en-US');

/** `1 batch`, `2 batches`. */
export const counted = (count: number, one: string, many = `${one}s`): string =>
  `${grouped(count)} ${count === 1 ? one : many}`;

export const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;

export interface Counts {
  readonly name: PipelineName;
  /** Final number of records. */
  readonly total: number;
  readonly produced: number;
  /** Waiting for their batch to fill. */
  readonly buffered: number;
  /** In a batch whose outcomes are not published yet. */
  readonly atService: number;
  /** As a read_committed consumer sees them. */
  readonly published: number;
  readonly deadLettered: number;
}

/** Heads, counts, and the marks of their parts of the bar. */
const STAGES: readonly (readonly [string, keyof Omit<Counts, 'name'>, Style, string])[] = [
  ['produced', 'produced', 'blue', '·'],
  ['buffered', 'buffered', 'cyan', '┄'],
  ['at service', 'atService', 'yellow', '─'],
  ['published', 'published', 'green', '━'],
  ['dead letters', 'deadLettered', 'magenta', '━'],
];
const NAME_COLUMNS = 7;
const BAR_COLUMNS = 50;
const LEAST_BAR_COLUMNS = 6;
const PLAIN_PROGRESS_MS = 2_000;

/** Draws the counts of every pipeline, a line each, with a bar where lines are redrawn. */
export function drawProgress(
  screen: Screen,
  pipelines: readonly Counts[],
  elapsedMs: number,
  last = false,
): void {
  const line = (name: string, cells: readonly string[]) =>
    [`${GAP}${name.padEnd(NAME_COLUMNS)}`, ...cells].join(GAP);
  const heads = line(
    seconds(elapsedMs).padStart(NAME_COLUMNS - 1),
    STAGES.map(([head, , style]) => screen.paint(style, head)),
  );
  const rows = pipelines.map((counts) =>
    line(
      counts.name,
      STAGES.map(([head, stage]) => grouped(counts[stage]).padStart(head.length)),
    ),
  );
  const room = Math.min(BAR_COLUMNS, screen.columns - 1 - (rows[0]?.length ?? 0) - GAP.length);
  const bars = pipelines.map((counts) =>
    room < LEAST_BAR_COLUMNS ? '' : barOf(screen, counts, room),
  );
  const withBars = rows.map((row, index) => `${row}${GAP}${bars[index]}`.trimEnd());
  const plain = [heads, ...rows].join('\n');
  screen.draw([heads, ...withBars], plain, { last, everyMs: PLAIN_PROGRESS_MS });
}

/** From the left: done, in flight, only produced. The rest of the bar is still to come. */
function barOf(screen: Screen, counts: Counts, columns: number): string {
  const [produced, ...later] = STAGES;
  const taken = later.reduce((sum, [, stage]) => sum + counts[stage], 0);
  let until = 0;
  let drawn = 0;
  return [...later.toReversed(), ...(produced === undefined ? [] : [produced])]
    .map((part) => {
      const [, stage, style, mark] = part;
      until += part === produced ? Math.max(0, counts.produced - taken) : counts[stage];
      const marks = Math.min(columns, Math.round((until / counts.total) * columns)) - drawn;
      drawn += marks;
      return marks === 0 ? '' : screen.paint(style, mark.repeat(marks));
    })
    .join('');
}
